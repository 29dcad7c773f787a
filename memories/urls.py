"""URLs of the dashboard's pages and of the API."""

from django.urls import include, path

from memories.api.systems import SystemsView
from memories.pages import ablation, checklist, connect, health, keys, members, overview, settings, traces
from memories.pages.add_data import views as add_data
from memories.pages.calibrate import views as calibrate_page
from memories.pages.decay import views as decay_page
from memories.pages.dedup import views as dedup_page
from memories.pages.graph import views as graph_page
from memories.pages.guards import views as guards_page
from memories.pages.judgements import judging_views as judging_page
from memories.pages.judgements import views as judgement_page
from memories.pages.lab import saving as lab_acts
from memories.pages.lab import views as lab_page
from memories.pages.memory import views as memory_page
from memories.pages.memory_list import views as memory_list_page
from memories.pages.optimise import views as optimise_page
from memories.pages.profiles import lifecycle as profile_acts
from memories.pages.profiles import views as profile_pages
from memories.pages.thresholds import views as thresholds_page
from memories.pages.tune import views as tune_page
from memories.pages.worked_example import views as worked_example_page

urlpatterns = [
    path("api/v1/systems/", SystemsView.as_view(), name="systems"),
    path("api/v1/<slug:namespace>/", include("memories.api.urls")),
    path("", overview.home, name="home"),
    path("<slug:namespace>/", overview.overview_page, name="overview"),
    path("<slug:namespace>/ablation/", ablation.ablation_page, name="ablation"),
    path("<slug:namespace>/ablation/trace/", ablation.start_ablation_tracing, name="ablation-trace"),
    path("<slug:namespace>/add/", add_data.add_data_page, name="add-data"),
    path("<slug:namespace>/add/conversation/", add_data.add_conversation, name="add-data-conversation"),
    path("<slug:namespace>/add/export/", add_data.export_data, name="add-data-export"),
    path("<slug:namespace>/add/file/", add_data.upload_file, name="add-data-upload"),
    path("<slug:namespace>/add/files/<uuid:id>/", add_data.uploaded_file, name="add-data-file"),
    path("<slug:namespace>/add/memory/", add_data.add_memory, name="add-data-memory"),
    path("<slug:namespace>/calibrate/", calibrate_page.calibrate_page, name="calibrate"),
    path("<slug:namespace>/calibrate/annotations/", calibrate_page.annotate_memory, name="calibrate-annotate"),
    path("<slug:namespace>/calibrate/k/", calibrate_page.save_rrf_k, name="calibrate-k"),
    path("<slug:namespace>/calibrate/drafts/", calibrate_page.save_calibration_draft, name="calibrate-keep"),
    path(
        "<slug:namespace>/calibrate/drafts/<uuid:id>/publish/",
        calibrate_page.publish_calibration_draft,
        name="calibrate-publish",
    ),
    path("<slug:namespace>/calibrate/preset/", calibrate_page.save_preset_draft, name="calibrate-preset"),
    path("<slug:namespace>/calibrate/import/", calibrate_page.import_annotations, name="calibrate-import"),
    path("<slug:namespace>/checklist/dismiss/", checklist.dismiss_checklist, name="checklist-dismiss"),
    path("<slug:namespace>/connect/", connect.connect_page, name="connect"),
    path("<slug:namespace>/decay/", decay_page.decay_page, name="decay"),
    path("<slug:namespace>/dedup/", dedup_page.dedup_page, name="dedup"),
    path("<slug:namespace>/dedup/drafts/", dedup_page.save_threshold_draft, name="dedup-keep"),
    path("<slug:namespace>/dedup/drafts/<uuid:id>/publish/", dedup_page.publish_threshold_draft, name="dedup-publish"),
    path("<slug:namespace>/dedup/sample/", dedup_page.sample_pairs, name="dedup-sample"),
    path("<slug:namespace>/dedup/reviews/<uuid:id>/", dedup_page.decide_pair, name="dedup-decide"),
    path("<slug:namespace>/graph/", graph_page.graph_page, name="graph"),
    path("<slug:namespace>/guards/", guards_page.guards_page, name="guards"),
    path("<slug:namespace>/health/", health.health_page, name="health"),
    path("<slug:namespace>/health/start/", health.start_health_job, name="health-start"),
    path("<slug:namespace>/judgements/", judgement_page.judgement_list, name="judgements"),
    path("<slug:namespace>/judgements/new/", judgement_page.create_judgement_set, name="judgements-new"),
    path("<slug:namespace>/judgements/<uuid:id>/", judgement_page.judgement_set_detail, name="judgements-set"),
    path(
        "<slug:namespace>/judgements/<uuid:id>/delete/", judgement_page.delete_judgement_set, name="judgements-delete"
    ),
    path("<slug:namespace>/judgements/<uuid:id>/sample/", judgement_page.add_traced_queries, name="judgements-sample"),
    path(
        "<slug:namespace>/judgements/<uuid:id>/export/", judgement_page.export_judgement_set, name="judgements-export"
    ),
    path("<slug:namespace>/judgements/<uuid:id>/grade/", judging_page.grade_pair, name="judgements-grade"),
    path("<slug:namespace>/judgements/<uuid:id>/import/", judgement_page.import_judgements, name="judgements-import"),
    path("<slug:namespace>/judgements/<uuid:id>/judge/", judging_page.judging_page, name="judgements-judge"),
    path("<slug:namespace>/judgements/<uuid:id>/pool/", judgement_page.start_pooling, name="judgements-pool"),
    path("<slug:namespace>/keys/", keys.keys_page, name="keys"),
    path("<slug:namespace>/keys/<uuid:id>/revoke/", keys.key_revoke_view, name="keys-revoke"),
    path("<slug:namespace>/keys/<uuid:id>/rotate/", keys.key_rotate_view, name="keys-rotate"),
    path("<slug:namespace>/lab/", lab_page.lab, name="lab"),
    path("<slug:namespace>/lab/judge/", lab_acts.grade_hit, name="lab-judge"),
    path("<slug:namespace>/lab/save/", lab_acts.save_lab_profile, name="lab-save"),
    path("<slug:namespace>/members/", members.members_page, name="keys-members"),
    path("<slug:namespace>/members/<int:user>/remove/", members.member_remove_view, name="keys-member-remove"),
    path("<slug:namespace>/members/<int:user>/role/", members.member_role_view, name="keys-member-role"),
    path("<slug:namespace>/memories/", memory_list_page.memory_list_page, name="memories"),
    path("<slug:namespace>/memories/<uuid:id>/", memory_page.memory_page, name="memories-memory"),
    path("<slug:namespace>/memories/<uuid:id>/<slug:act>/", memory_page.perform_memory_action, name="memories-act"),
    path("<slug:namespace>/optimise/", optimise_page.optimise_page, name="optimise"),
    path("<slug:namespace>/optimise/start/", optimise_page.start_search_job, name="optimise-start"),
    path("<slug:namespace>/optimise/<uuid:id>/save/", optimise_page.save_search_result, name="optimise-save"),
    path("<slug:namespace>/optimise/<uuid:id>/stop/", optimise_page.stop_search_job, name="optimise-stop"),
    path("<slug:namespace>/profiles/", profile_pages.profile_list, name="profiles"),
    path("<slug:namespace>/profiles/import/", profile_acts.import_profile_yaml, name="profiles-import"),
    path("<slug:namespace>/profiles/rollback/", profile_acts.roll_back_profile, name="profiles-rollback"),
    path("<slug:namespace>/profiles/shadow/end/", profile_acts.end_shadow, name="profiles-unfollow"),
    path("<slug:namespace>/profiles/<uuid:id>/", profile_pages.profile_version_detail, name="profiles-one"),
    path("<slug:namespace>/profiles/<uuid:id>/check/", profile_acts.check_profile_version, name="profiles-check"),
    path(
        "<slug:namespace>/profiles/<uuid:id>/evaluate/", profile_acts.evaluate_profile_version, name="profiles-evaluate"
    ),
    path("<slug:namespace>/profiles/<uuid:id>/follow/", profile_acts.start_shadow, name="profiles-follow"),
    path("<slug:namespace>/profiles/<uuid:id>/publish/", profile_acts.publish_profile_version, name="profiles-publish"),
    path("<slug:namespace>/profiles/<uuid:id>/yaml/", profile_pages.profile_version_yaml, name="profiles-yaml"),
    path("<slug:namespace>/settings/", settings.settings_page, name="keys-settings"),
    path("<slug:namespace>/settings/embedder/", settings.change_embedder, name="keys-embedder"),
    path("<slug:namespace>/settings/new/", settings.namespace_create_view, name="keys-new-namespace"),
    path("<slug:namespace>/thresholds/", thresholds_page.thresholds_page, name="thresholds"),
    path("<slug:namespace>/thresholds/drafts/", thresholds_page.save_threshold_policy, name="thresholds-keep"),
    path(
        "<slug:namespace>/thresholds/drafts/<uuid:id>/publish/",
        thresholds_page.publish_threshold_policy,
        name="thresholds-publish",
    ),
    path(
        "<slug:namespace>/thresholds/effects/<slug:system>/",
        thresholds_page.threshold_effects,
        name="thresholds-effects",
    ),
    path("<slug:namespace>/thresholds/save/", thresholds_page.save_threshold_profile, name="thresholds-save"),
    path("<slug:namespace>/traces/", traces.trace_list_page, name="traces"),
    path("<slug:namespace>/tune/", tune_page.tune, name="tune"),
    path("<slug:namespace>/tune/trace/", tune_page.start_tune_tracing, name="tune-trace"),
    path("<slug:namespace>/tune/save/", tune_page.save_tuned_profile, name="tune-save"),
    path("<slug:namespace>/tune/sensitivity/", tune_page.sensitivity, name="tune-sensitivity"),
    path("<slug:namespace>/traces/<uuid:id>/", traces.trace_page, name="traces-one"),
    path("<slug:namespace>/traces/new/", traces.new_traces, name="traces-new"),
    path("<slug:namespace>/worked-example/", worked_example_page.worked_example_page, name="worked-example"),
    path(
        "<slug:namespace>/worked-example/store/", worked_example_page.store_worked_example, name="worked-example-store"
    ),
]
