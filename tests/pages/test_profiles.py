"""The Profiles pages: versions, metrics, check, publication, rollback and shadow."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.fixtures import DjangoAssertNumQueries
from pytest_django.live_server_helper import LiveServer

from memories.jobs import tuning_jobs
from memories.jobs.attempt import run_job
from memories.models import Job, JudgementSet, Membership, Namespace, ProfileVersion, Publication, Shadow
from memories.models.choices import JobKind, Role
from memories.tuning import evaluation_records, profile_publication, profile_yaml
from memories.tuning.measurement import MAIN_METRIC
from tests.support.access import member_of
from tests.support.judged_world import JUDGED_QUERIES, make_judgement_set
from tests.support.profiles import ABSTAINING, GOOD, add_version, force_publish, retrieve_over_api, run_check
from tests.support.retrieval_world import store_world
from tests.support.sign_in import sign_in

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


def get_page(client: Client, address: str = "", status: int = 200, **headers: str) -> str:
    """A page's HTML with whitespace collapsed."""
    answer = client.get(f"/asked/profiles/{address}", headers=headers)
    assert answer.status_code == status
    text = answer.content.decode()
    assert "style=" not in text
    return re.sub(r"\s+", " ", text)


def post_form(client: Client, address: str, **form: Any) -> Any:
    return client.post(f"/asked/profiles/{address}", form)


def test_without_versions_the_page_says_what_one_is_and_what_is_served(world: Namespace) -> None:
    text = get_page(member_of(world, Role.READ))
    for part in (
        "Serving blend defaults",
        "No versions yet",
        "No shadow",
        "Open the Lab",
    ):
        assert part in text, part
    assert "<form" not in text.split('id="main"')[1]


def test_versions_are_listed_with_state_parent_changes_and_metric(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    first, second = add_version(world, {"abstain_below": 0.0}), add_version(world, {"abstain_below": 0.25})
    made = evaluation_records.evaluate_version(world, second, judgement_set, by="tests")
    force_publish(world, first)
    text = get_page(member_of(world))
    metric = made.metrics[MAIN_METRIC]
    for part in (
        "Serving careful@1",
        "2 versions",
        "→ .25",
        "from careful@1",
        "from defaults",
        ">served<",
        ">evaluated<",
    ):
        assert part in text, part
    assert f"<b>{metric['mean']:.3f}</b>".replace("0.", ".") in text
    assert f"{metric['low']:.3f} to".replace("0.", ".") in text
    assert "Roll back to blend defaults" in text


def test_the_list_runs_as_many_sql_queries_for_many_versions_as_for_few(
    world: Namespace, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client = member_of(world)
    for _ in range(12):
        version = add_version(world, GOOD)
    get_page(client)
    with django_assert_max_num_queries(18):
        assert get_page(client).count("as YAML") == 12
    with django_assert_max_num_queries(20):
        get_page(client, f"{version.id}/")


def test_a_version_shows_its_metrics_and_its_check_as_they_were_computed(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    good, ruined = add_version(world, GOOD), add_version(world, ABSTAINING)
    force_publish(world, good)
    traces = [retrieve_over_api(world, text)["trace"] for text, _ in JUDGED_QUERIES[:3]]
    client = member_of(world)
    assert "Check before publishing" in get_page(client, f"{ruined.id}/")
    job = run_check(world, ruined)
    text = get_page(client, f"{ruined.id}/")
    first = job.result["judge"]["tests"][0]
    assert "Significant loss" in text
    assert f"−{abs(first['difference']):.3f}".replace("0.", ".") in text
    assert "✕ loss" in text
    assert "<b>3 of 3</b> real queries would be answered differently: Jaccard .000, RBO .000" in text
    for trace in traces:
        assert f"/asked/lab/?trace={trace}" in text
    assert "by=careful%402" in text


def test_publishing_a_loss_is_refused_with_the_form_as_typed_and_needs_an_override(
    world: Namespace, judgement_set: JudgementSet
) -> None:
    good, ruined = add_version(world, GOOD), add_version(world, ABSTAINING)
    first = force_publish(world, good)
    run_check(world, ruined)
    client = member_of(world)
    refused = post_form(client, f"{ruined.id}/publish/", serving=str(first.id), note="as typed")
    assert refused.status_code == 409
    assert "careful@2 loses: nDCG@10" in refused.content.decode()
    assert 'value="as typed"' in refused.content.decode()
    done = post_form(client, f"{ruined.id}/publish/", serving=str(first.id), override="for silence")
    assert done.status_code == 302
    assert "Overridden: for silence (careful@2 loses" in get_page(client)
    back = post_form(client, "rollback/", serving=str(first.id))
    assert back.status_code == 409
    assert "Something else was published" in back.content.decode()
    now = Publication.objects.within(world).last()
    assert now is not None
    assert post_form(client, "rollback/", serving=str(now.id)).status_code == 302
    assert "Serving careful@1" in get_page(client)


def test_the_address_that_a_refusal_leaves_behind_leads_back_to_the_version(world: Namespace) -> None:
    version, client = add_version(world, GOOD), member_of(world)
    answer = client.get(f"/{world.slug}/profiles/{version.id}/publish/")
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert f'href="/{world.slug}/profiles/{version.id}/"' in answer.content.decode()
    assert (
        f'href="/{world.slug}/optimise/"' in client.get(f"/{world.slug}/optimise/{version.id}/save/").content.decode()
    )


def test_evaluation_and_check_show_their_progress(world: Namespace, judgement_set: JudgementSet) -> None:
    version = add_version(world, GOOD)
    client = member_of(world, Role.WRITE)
    assert post_form(client, f"{version.id}/evaluate/", set="questions", split="holdout").status_code == 302
    assert post_form(client, f"{version.id}/check/").status_code == 302
    part = get_page(client, f"{version.id}/", **{"HX-Request": "true"})
    assert "<h1" not in part
    for words in ("recall:poll", "Evaluating: queued", "Waiting for a worker"):
        assert words in part, words
    for job in Job.objects.within(world).filter(kind__in=[JobKind.EVALUATE, JobKind.GATE]):
        run_job(world.id, job.id)
    part = get_page(client, f"{version.id}/", **{"HX-Request": "true"})
    assert "recall:poll" not in part
    assert "holdout queries of “questions”" in part
    assert "An admin can publish it." in part


def test_a_shadow_is_started_reported_and_ended(world: Namespace, judgement_set: JudgementSet) -> None:
    force_publish(world, add_version(world, GOOD))
    version = add_version(world, ABSTAINING)
    client = member_of(world)
    assert "must be at most 100; got 101" in post_form(client, f"{version.id}/follow/", percent="101").content.decode()
    assert post_form(client, f"{version.id}/follow/", percent="100").status_code == 302
    assert "Nothing has been compared yet" in get_page(client)
    retrieve_over_api(world, "backup")
    run_job(world.id, tuning_jobs.submit_shadow_job(world, by="tests").id)
    text = get_page(client)
    assert "careful@2 shadows 100 % of queries" in text
    assert '<span class="big">1</span> of 1' in text
    assert "▲ 0 won, ▼ 1 lost" in text
    assert post_form(client, "shadow/end/").status_code == 302
    assert not Shadow.objects.within(world).exists()


def test_yaml_is_exported_and_imported_and_invalid_input_stays_as_typed(world: Namespace) -> None:
    version = add_version(world, GOOD)
    client = member_of(world, Role.WRITE)
    answer = client.get(f"/asked/profiles/{version.id}/yaml/")
    assert answer["Content-Disposition"] == 'attachment; filename="careful-1.yaml"'
    assert answer.content.decode() == profile_yaml.profile_to_yaml(version)
    wrong = post_form(client, "import/", yaml="profile: careful\nsystem: unheard")
    assert wrong.status_code == 400
    assert "must be one of" in wrong.content.decode()
    assert "system: unheard</textarea>" in wrong.content.decode()
    text = answer.content.decode().replace("0.0", "0.5")
    assert post_form(client, "import/", yaml=text).status_code == 302
    assert ProfileVersion.objects.within(world).get(number=2).params == {"abstain_below": 0.5}


def test_acts_need_their_roles_and_other_namespaces_do_not_exist(world: Namespace) -> None:
    version = add_version(world, GOOD)
    writer, reader = member_of(world, Role.WRITE), member_of(world, Role.READ)
    for act in ("publish/", "follow/"):
        assert post_form(writer, f"{version.id}/{act}").status_code == 403
    for act in ("rollback/", "shadow/end/"):
        assert post_form(writer, act).status_code == 403
    for act in (f"{version.id}/check/", f"{version.id}/evaluate/", "import/"):
        assert post_form(reader, act).status_code == 403
    stranger = member_of(Namespace.objects.create(slug="elsewhere", title="Elsewhere"))
    for address in ("", f"{version.id}/", f"{version.id}/yaml/"):
        get_page(stranger, address, 404)
        assert stranger.get(f"/elsewhere/profiles/{address}").status_code == (404 if address else 200)
    get_page(writer, f"{uuid4()}/", 404)
    assert not Publication.objects.within(world).exists()


def test_a_publication_without_a_profile_serves_the_defaults(world: Namespace) -> None:
    force_publish(world, add_version(world, GOOD))
    profile_publication.roll_back_version(world, by="tests")
    assert "Serving blend defaults" in get_page(member_of(world))


@pytest.mark.django_db(transaction=True)
def test_a_person_measures_checks_publishes_and_rolls_back_in_the_browser(
    page: Page,
    live_server: LiveServer,
    maya: Any,
) -> None:
    namespace = store_world("desk")
    make_judgement_set(namespace)
    Membership.objects.create(namespace=namespace, user=maya, role=Role.ADMIN)
    good, ruined = add_version(namespace, GOOD), add_version(namespace, ABSTAINING)
    force_publish(namespace, good)
    sign_in(page)
    page.goto("/desk/profiles/")
    page.get_by_role("link", name="careful@2", exact=True).click()
    page.get_by_role("button", name="Check before publishing").click()
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    run_job(namespace.id, Job.objects.within(namespace).get(kind=JobKind.GATE).id)
    expect(page.get_by_role("heading", name="Significant loss")).to_be_visible(timeout=15_000)
    page.get_by_label("Publish anyway, because").fill("A test wants it.")
    page.get_by_role("button", name="Publish careful@2").click()
    expect(page.get_by_role("heading", name="Serving careful@2")).to_be_visible()
    expect(page.get_by_text("Overridden: A test wants it.")).to_be_visible()
    page.get_by_role("button", name="Roll back to careful@1").click()
    expect(page.get_by_role("heading", name="Serving careful@1")).to_be_visible()
    page.get_by_role("link", name=f"careful@{ruined.number}", exact=True).click()
    page.get_by_role("button", name="Evaluate").click()
    expect(page.get_by_text("Evaluating: ")).to_be_visible()
    run_job(namespace.id, Job.objects.within(namespace).get(kind=JobKind.EVALUATE).id)
    expect(page.get_by_role("heading", name="nDCG@10 .000, .000 to .000")).to_be_visible(timeout=15_000)
