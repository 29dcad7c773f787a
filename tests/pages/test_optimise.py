"""The Optimise and Ablation pages."""

import json
import re
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from memories.contracts.number_format import format_p_value
from memories.jobs.attempt import run_job
from memories.models import Job, JudgementSet, Membership, Namespace, ProfileVersion
from memories.models.choices import JobKind, JobState, Role
from memories.pages.optimise import charts
from memories.pages.optimise.search_summary import NO_IMPROVEMENT, search_verdict
from memories.retrieval.query import Config
from memories.tuning.array_cache import cached_arrays
from memories.tuning.measurement import MAIN_METRIC
from memories.tuning.objective import Objective
from memories.tuning.retriever_ablation import ablate_retrievers
from scoring.systems import SYSTEMS
from tests.support.judged_world import make_judgement_set, trace_set
from tests.support.markup import collapse_whitespace

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


@pytest.fixture
def judgement_set(world: Namespace) -> JudgementSet:
    return make_judgement_set(world, "questions to search by")


@pytest.fixture
def ada(client: Client, world: Namespace) -> Client:
    """An admin of the namespace, signed in."""
    user = User.objects.create_user("ada")
    Membership.objects.create(namespace=world, user=user, role=Role.ADMIN)
    client.force_login(user)
    return client


def form_data(judgement_set: JudgementSet, **more: Any) -> dict[str, Any]:
    """A filled-in search form."""
    move = ["rerank", "age", "confidence_gate"]
    return {"set": str(judgement_set.id), "by": "blend", "max_trials": "10", "seconds": "30", "move": move, **more}


def run_search(ada: Client, world: Namespace, judgement_set: JudgementSet, **more: Any) -> Job:
    """Start a search on the page and run its job."""
    answer = ada.post(f"/{world.slug}/optimise/start/", form_data(judgement_set, **more))
    assert answer.status_code == 302
    job = Job.objects.within(world).get(kind=JobKind.OPTIMISE)
    assert answer["Location"] == f"/{world.slug}/optimise/?job={job.id}"
    run_job(world.id, job.id)
    return Job.objects.within(world).get(id=job.id)


def get_page(ada: Client, address: str, status: int = 200, **more: Any) -> str:
    """The page at a URL."""
    response = ada.get(address, **more)
    assert response.status_code == status
    return collapse_whitespace(response.content.decode())


def test_a_search_runs_and_the_page_shows_its_numbers(
    ada: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    job = run_search(ada, world, judgement_set)
    page = get_page(ada, f"/{world.slug}/optimise/?job={job.id}")
    found = job.result["search"]
    assert NO_IMPROVEMENT in page  # six queries are too few for significance
    assert f"after {found['tried']} configurations" in page
    figure = re.search(r'<script id="fig-progress" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert figure
    line = json.loads(figure[1])["data"][0]
    assert line["x"][-1] == found["tried"]
    assert line["y"][-1] == pytest.approx(found["best"], abs=1e-5)
    holdout = job.result["check"]["holdout"]["before"][MAIN_METRIC]
    assert f"{holdout['mean']:.3f}".removeprefix("0") in page
    assert 'data-poll="1"' not in page


def test_a_running_search_is_polled_and_can_be_stopped(
    ada: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    ada.post(f"/{world.slug}/optimise/start/", form_data(judgement_set))
    job = Job.objects.within(world).get(kind=JobKind.OPTIMISE)
    page = get_page(ada, f"/{world.slug}/optimise/")
    assert "The search is queued" in page
    assert 'data-poll="1"' in page
    for step in ("trace", "search", "check"):  # every step begins without a total
        Job.objects.within(world).filter(id=job.id).update(state=JobState.RUNNING, step=step, total=None)
        assert "Stop, keep the best" in get_page(ada, f"/{world.slug}/optimise/", headers={"HX-Request": "true"})
    stopped = ada.post(f"/{world.slug}/optimise/{job.id}/stop/")
    assert "Stopping" in get_page(ada, stopped["Location"])
    assert Job.objects.within(world).get(id=job.id).params["stop"] is True


def test_a_search_result_is_saved_as_an_unpublished_profile(
    ada: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    Membership.objects.filter(namespace=world).update(role=Role.WRITE)
    job = run_search(ada, world, judgement_set)
    address = f"/{world.slug}/optimise/{job.id}/save/"
    job.result["search"]["chosen"] = {}
    job.save()
    ada.post(address, {"name": "found"})
    assert not ProfileVersion.objects.within(world).exists()
    job.result["search"]["chosen"] = {"rerank": 0.5}
    job.save()
    ada.post(address, {"name": "at@home"})
    assert not ProfileVersion.objects.within(world).exists()
    ada.post(address, {"name": "found"})
    version = ProfileVersion.objects.within(world).select_related("profile").get()
    assert (version.profile.name, version.system, version.params) == ("found", "blend", {"rerank": 0.5})
    assert world.serving is None
    page = get_page(ada, f"/{world.slug}/optimise/?job={job.id}")
    assert "Saved as found@1" in page
    assert "1 parameter would change" in page
    links = {unescape(one) for one in re.findall(r'href="([^"]*p\.rerank=0\.5[^"]*)"', page)}
    assert {urlsplit(one).path for one in links} == {f"/{world.slug}/lab/", f"/{world.slug}/tune/"}
    (tune,) = [one for one in links if "/tune/" in one]
    make_judgement_set(world, "another set")
    there = get_page(ada, tune)
    assert f"<option selected>{judgement_set.name}</option>" in there
    assert "Some values in the URL are invalid" not in there


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_trials": "many"}, "must be an integer; got &quot;many&quot;"),
        ({"seconds": "0"}, "must be at least 1"),
        ({"move": []}, "must name at least one parameter; got none"),
        ({"move": ["pool"]}, "must be some of"),
        ({"by": "careful@9"}, "must be a profile of this namespace, or name@version; got careful@9"),
        ({"by": "best"}, "must be one of"),
        ({"metric": "luck"}, "must be one of"),
        ({"set": "mine"}, "must be a judgement set of this namespace with queries"),
        ({"price": "free"}, "must be a finite number; got"),
    ],
)
def test_an_invalid_form_is_refused_and_stays_as_typed(
    ada: Client, world: Namespace, judgement_set: JudgementSet, wrong: dict[str, Any], message: str
) -> None:
    answer = ada.post(f"/{world.slug}/optimise/start/", form_data(judgement_set, **wrong))
    assert answer.status_code == 400
    page = collapse_whitespace(answer.content.decode())
    assert message in page
    assert not Job.objects.within(world).filter(kind=JobKind.OPTIMISE).exists()
    if wrong.get("max_trials"):
        assert 'name="max_trials" inputmode="numeric" value="many" aria-invalid="true"' in page


def test_a_search_that_was_left_is_found_again_with_its_form_as_it_was_filled_in(
    ada: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    ada.post(f"/{world.slug}/optimise/start/", form_data(judgement_set, price="0.25"))
    for finished in (False, True):
        page = get_page(ada, f"/{world.slug}/optimise/")
        assert ("The search is queued" in page) != finished
        assert 'value="0.25"' in page
        assert len(re.findall(r'name="move" value="\w+" checked', page)) == 3
        run_job(world.id, Job.objects.within(world).get(kind=JobKind.OPTIMISE).id)


def test_a_few_outlying_configurations_do_not_press_the_others_into_a_corner() -> None:
    near = [
        {"quality": 0.6 + number / 1000, "other": 0.7 + number / 1000, "front": number > 95} for number in range(100)
    ]
    points = [*near, {"quality": -0.2, "other": 0.0, "front": False}]
    low, high = charts.axis_range(points, "other")
    assert 0.6 < low < 0.7
    assert 0.799 < high < 0.9
    assert charts.count_outside(points) == 1
    assert charts.count_outside(near) == 0
    front = [*near, {"quality": 0.9, "other": 0.0, "front": True}]
    assert charts.axis_range(front, "other")[0] < 0.0
    assert charts.axis_range([], "other") == [-0.08, 1.08]


def test_another_system_offers_its_own_parameters(ada: Client, world: Namespace, judgement_set: JudgementSet) -> None:
    page = get_page(ada, f"/{world.slug}/optimise/?by=memsense", headers={"HX-Request": "true", "HX-Target": "choose"})
    offered = re.findall(r'name="move" value="(\w+)"', page)
    declared = SYSTEMS["memsense"].params.declarations()
    assert set(offered) == {name for name, one in declared.items() if one.scope == "score"}


def test_pages_run_few_sql_queries(
    ada: Client,
    world: Namespace,
    judgement_set: JudgementSet,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    job = run_search(ada, world, judgement_set)
    for address in (f"optimise/?job={job.id}", "ablation/", "ablation/?by=blend&show=1"):
        get_page(ada, f"/{world.slug}/{address}")
        with django_assert_max_num_queries(20):
            get_page(ada, f"/{world.slug}/{address}")


def test_whoever_may_only_read_sees_and_does_not_act(
    client: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    user = User.objects.create_user("bo")
    Membership.objects.create(namespace=world, user=user, role=Role.READ)
    client.force_login(user)
    assert "Searching requires the write role" in get_page(client, f"/{world.slug}/optimise/")
    assert client.post(f"/{world.slug}/optimise/start/", form_data(judgement_set)).status_code == 403
    assert client.post(f"/{world.slug}/ablation/trace/", {"set": str(judgement_set.id)}).status_code == 403


def test_a_search_of_another_namespace_is_not_there(ada: Client, world: Namespace) -> None:
    there = Namespace.objects.create(slug="there", title="There")
    job = Job.objects.create(namespace=there, kind=JobKind.OPTIMISE)
    get_page(ada, "/there/optimise/", 404)
    get_page(ada, "/there/ablation/", 404)
    get_page(ada, f"/{world.slug}/optimise/?job={job.id}", 404)
    get_page(ada, f"/{world.slug}/optimise/?job=nobody", 404)
    assert ada.post(f"/{world.slug}/optimise/{job.id}/stop/").status_code == 404


def test_without_judged_queries_the_pages_say_what_to_do(ada: Client, world: Namespace) -> None:
    JudgementSet.objects.within(world).all().delete()
    assert "no judged queries here yet" in get_page(ada, f"/{world.slug}/optimise/")
    assert "no judged queries here yet" in get_page(ada, f"/{world.slug}/ablation/")


def test_an_untraced_set_can_be_run_for_the_ablation(
    ada: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    address = f"/{world.slug}/ablation/?set={judgement_set.id}&by=recall&show=1"
    assert "Run the set" in get_page(ada, address)
    ada.post(f"/{world.slug}/ablation/trace/", {"set": str(judgement_set.id), "by": "recall"})
    assert "The queries are being run" in get_page(ada, address)
    run_job(world.id, Job.objects.within(world).filter(kind=JobKind.TRACE).latest("created_at").id)
    assert "Unique results" in get_page(ada, address)


def test_the_ablation_shows_the_numbers_of_every_retriever(
    ada: Client, world: Namespace, judgement_set: JudgementSet
) -> None:
    traced = trace_set(world, judgement_set, Config(SYSTEMS["blend"]))
    page = get_page(ada, f"/{world.slug}/ablation/?set={judgement_set.id}&by=blend&show=1")
    found = ablate_retrievers(cached_arrays(traced), Config(SYSTEMS["blend"]), Objective(MAIN_METRIC))
    for one in found.retrievers:
        assert f"</span>{one.mean:.3f}</td>".replace(">0.", ">.") in page
        assert f'<span class="narrow-word">p </span>{format_p_value(one.corrected)}</td>' in page
    assert "corrected for the number of retrievers tested (Holm)" in page
    cells = re.findall(r"</svg>\s*<span>([\d.]+)</span>", page)
    assert cells == [f"{share:.2f}".removeprefix("0") for row in found.overlap for share in row if share is not None]


@pytest.mark.parametrize("wrong", ["set=mine", "by=best", "metric=luck", "by=careful@9"])
def test_an_ablation_of_nothing_known_is_refused_in_words(
    ada: Client, world: Namespace, judgement_set: JudgementSet, wrong: str
) -> None:
    assert 'class="problem"' in get_page(ada, f"/{world.slug}/ablation/?{wrong}&show=1", 400)


def test_a_significant_gain_is_shown_with_its_interval_and_p_value() -> None:
    holdout = {"difference": 0.021, "low": 0.004, "high": 0.039, "p_value": 0.012}
    job = Job(state="done", result={"search": {"tried": 9}, "check": {"significant": True, "holdout": holdout}})
    assert search_verdict(job) == "Better by .021 (.004 to .039), p .012"
