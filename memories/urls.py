"""The addresses of the memories' pages."""

from django.urls import include, path

from memories.pages import decay, health, keys, members, memories, memory, overview, settings, traces
from memories.pages.lab import acts as lab_acts
from memories.pages.lab import page as lab_page

urlpatterns = [
    path("api/v1/<slug:namespace>/", include("memories.api.urls")),
    path("", overview.home, name="home"),
    path("<slug:namespace>/", overview.overview, name="overview"),
    path("<slug:namespace>/decay/", decay.decay, name="decay"),
    path("<slug:namespace>/health/", health.health, name="health"),
    path("<slug:namespace>/health/start/", health.start_job, name="health-start"),
    path("<slug:namespace>/keys/", keys.keys, name="keys"),
    path("<slug:namespace>/keys/<uuid:id>/revoke/", keys.revoked, name="keys-revoke"),
    path("<slug:namespace>/keys/<uuid:id>/rotate/", keys.rotated, name="keys-rotate"),
    path("<slug:namespace>/lab/", lab_page.lab, name="lab"),
    path("<slug:namespace>/lab/judge/", lab_acts.judge, name="lab-judge"),
    path("<slug:namespace>/lab/save/", lab_acts.save, name="lab-save"),
    path("<slug:namespace>/members/", members.members, name="keys-members"),
    path("<slug:namespace>/members/<int:user>/remove/", members.removed, name="keys-member-remove"),
    path("<slug:namespace>/members/<int:user>/role/", members.changed, name="keys-member-role"),
    path("<slug:namespace>/memories/", memories.memories, name="memories"),
    path("<slug:namespace>/memories/<uuid:id>/", memory.memory, name="memories-memory"),
    path("<slug:namespace>/memories/<uuid:id>/<slug:act>/", memory.act, name="memories-act"),
    path("<slug:namespace>/settings/", settings.settings, name="keys-settings"),
    path("<slug:namespace>/settings/embedder/", settings.reembed, name="keys-embedder"),
    path("<slug:namespace>/settings/new/", settings.new_namespace, name="keys-new-namespace"),
    path("<slug:namespace>/traces/", traces.traces, name="traces"),
    path("<slug:namespace>/traces/<uuid:id>/", traces.trace, name="traces-one"),
    path("<slug:namespace>/traces/new/", traces.arrivals, name="traces-new"),
]
