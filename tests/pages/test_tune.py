"""The Tune page: the metric follows the slider, over all judged queries."""

import json
import re
from datetime import UTC, datetime
from html import escape, unescape
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import DjangoAssertNumQueries
from pytest_django.live_server_helper import LiveServer

from memories.contracts.number_format import format_number, format_percent
from memories.models import Job, JudgedQuery, JudgementSet, Membership, Namespace, ProfileVersion
from memories.models.choices import JobKind, Role, Split
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Config
from memories.tuning.array_cache import cached_arrays
from memories.tuning.measurement import MAIN_METRIC, measure_config
from memories.tuning.optimiser import tunable_params
from memories.tuning.profile_versions import add_profile_version
from memories.tuning.rrf_sweep import sweep_rrf_k
from memories.tuning.sensitivity import PAPER_K_VALUES, curve_values, params_needing_new_query, sensitivity_curves
from memories.tuning.versions import save_publication
from scoring.resampling import holm
from scoring.systems import SYSTEMS
from scoring.systems.blend import BlendParams
from tests.support.judged_arrays import planted_arrays
from tests.support.judged_world import make_judgement_set, trace_set
from tests.support.markup import collapse_whitespace
from tests.support.retrieval_world import store_world

pytestmark = pytest.mark.django_db

METRIC = re.compile(r'id="metric-1">([^<]+)<')


@pytest.fixture
def namespace(client: Client) -> Namespace:
    """The small world, with an admin signed in."""
    namespace = store_world("here")
    user = User.objects.create_user("ada", password="ada")
    Membership.objects.create(namespace=namespace, user=user, role=Role.ADMIN)
    client.force_login(user)
    return namespace


@pytest.fixture
def judgement_set(namespace: Namespace) -> JudgementSet:
    """A judged set, traced once."""
    whole = make_judgement_set(namespace)
    trace_set(namespace, whole, resolve_config(namespace, params={}))
    return whole


def get_page(client: Client, **params: Any) -> str:
    """The page under a query string."""
    response = client.get("/here/tune/", params)
    assert response.status_code == 200
    return collapse_whitespace(response.content.decode())


def mean(namespace: Namespace, judgement_set: JudgementSet, split: str = Split.TUNE, **params: Any) -> float:
    """The metric, measured independently of the page."""
    start = resolve_config(namespace, params={})
    whole = judgement_set.traced.get(system=start.system.name)
    return measure_config(cached_arrays(whole), Config(start.system, params)).mean(MAIN_METRIC, split)


def test_the_page_shows_the_metric_of_what_is_served(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    assert METRIC.search(get_page(client))[1] == format_number(mean(namespace, judgement_set), 3)  # type: ignore[index]


@pytest.mark.parametrize("split", ["all", "holdout"])
def test_the_metric_is_that_of_the_chosen_part(
    client: Client, namespace: Namespace, judgement_set: JudgementSet, split: str
) -> None:
    expected = mean(namespace, judgement_set, "" if split == "all" else split)
    assert METRIC.search(get_page(client, split=split))[1] == format_number(expected, 3)  # type: ignore[index]


def test_a_changed_parameter_changes_the_metric_and_lists_lost_queries(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    page = get_page(client, **{"p.abstain_below": "1"})
    assert METRIC.search(page)[1] == ".000" == format_number(mean(namespace, judgement_set, abstain_below=1.0), 3)  # type: ignore[index]
    assert "Lost most" in page
    assert "/here/lab/?query=backup" in page


def test_a_slider_that_cannot_move_anything_says_why(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    page = get_page(client)
    for name, reason in (("hop_1", "graph traversal has no weight"), ("min_confidence", "the confidence gate is off")):
        assert re.search(rf'data-param="{name}" class="[^"]*\binert"', page)
        assert f'<small class="no-effect" id="p-{name}-i" >No effect: <span>{reason}</span></small>' in page
    assert '"min_confidence"' in page
    moved = get_page(client, **{"p.confidence_gate": "true", "p.age": "0"})
    reasons = json.loads(re.search(r'<script id="inert" type="application/json">(.*?)</script>', moved)[1])  # type: ignore[index]
    assert "min_confidence" not in reasons
    assert reasons["freshness_floor"] == "the age amplitude is 0"


def test_a_candidate_parameter_needs_new_queries(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    assert "must be run again" in get_page(client, **{"p.bm25_k1": "2"})


def test_a_set_that_was_never_run_is_run_by_a_job(client: Client, namespace: Namespace) -> None:
    make_judgement_set(namespace)
    assert "have not been run with blend yet" in get_page(client)
    assert client.post("/here/tune/trace/", {"here": ""}).status_code == 302
    assert Job.objects.within(namespace).get(kind=JobKind.TRACE).params["system"] == "blend"
    assert "Running every query of the set once" in get_page(client)


def test_a_namespace_without_judgements_says_where_they_come_from(client: Client, namespace: Namespace) -> None:
    assert "no judged queries here yet" in get_page(client)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("set", "nowhere", "must be one of questions"),
        ("split", "half", "must be one of all, tune, holdout"),
        ("metric", "f1", "must be one of ndcg@10"),
        ("by", "nobody", "must be a system"),
        ("p.trust", "7", "must be a number from 0 to 1; got 7.0"),
        ("p.nothing", "1", "nothing"),
    ],
)
def test_an_invalid_value_is_reported_and_the_rest_applies(
    client: Client, namespace: Namespace, judgement_set: JudgementSet, name: str, value: str, says: str
) -> None:
    page = get_page(client, **{name: value}).replace("&#x27;", "'")
    assert says in page
    assert METRIC.search(page)


def test_a_constraint_broken_together_with_the_start_is_reported_and_the_rest_applies(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    weights = [name for name in SYSTEMS["recall"].params.declarations() if name.startswith("weight_")]
    start = {weights[0]: 0.0}
    add_profile_version(namespace, name="x", system="recall", params=start, parent=None, note="", by="tests")
    trace_set(namespace, judgement_set, resolve_config(namespace, profile="x@1", params={}))
    page = get_page(client, by="x@1", **{f"p.{name}": "0" for name in weights[1:]})
    assert "must not all be zero" in page
    assert METRIC.search(page)


def test_another_start_has_its_own_sliders_and_drops_the_old_values(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    sent = {"started_by": "", "by": "recall", "split": "holdout", "p.abstain_below": "0.5", "p.rrf_k": "20"}
    moved = client.get("/here/tune/", sent, headers={"HX-Request": "true"})
    assert moved["HX-Redirect"] == "/here/tune/?by=recall&split=holdout"
    page = client.get("/here/tune/", sent).content.decode()
    assert "Parameters of recall" in page
    assert "Some values in the URL are invalid" not in page
    assert 'name="started_by" value="recall"' in page


def test_a_system_of_which_hardly_anything_is_judged_leads_to_the_pool(
    client: Client, namespace: Namespace, judgement_set: JudgementSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace_set(namespace, judgement_set, resolve_config(namespace, params={}))
    assert "so these numbers mean little" not in get_page(client)
    monkeypatch.setattr("memories.pages.tune.metric_report.UNJUDGED_WARNING_FROM", 0.1)
    page = get_page(client)
    assert "so these numbers mean little" in page
    assert f'href="/here/judgements/{judgement_set.id}/"' in page


def test_every_curve_runs_through_what_a_slider_would_show(namespace: Namespace, judgement_set: JudgementSet) -> None:
    start = resolve_config(namespace, params={})
    whole = cached_arrays(judgement_set.traced.get(system="blend"))
    found = {one.name: one for one in sensitivity_curves(whole, start, MAIN_METRIC, Split.TUNE, 600)}
    assert list(found) == tunable_params(start)
    trust = found["trust"]
    assert list(trust.values) == curve_values(start, "trust")
    for value, metric in zip(trust.values, trust.metric, strict=True):
        assert metric == measure_config(whole, Config(start.system, {"trust": value})).mean(MAIN_METRIC, Split.TUNE)
    assert found["abstain_below"].lowest == 0.0


def test_the_sensitivity_covers_every_parameter_and_names_the_strongest(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    page = collapse_whitespace(client.get("/here/tune/sensitivity/").content.decode())
    for name in tunable_params(resolve_config(namespace, params={})):
        assert f'id="curve-{name}" hx-swap-oob="true"' in page
    found = re.search(r'<script id="fig-tornado" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    assert json.loads(found[1])["data"][0]["y"][-1] == "Minimum answer probability (absta…"


def test_the_sweep_of_k_is_one_of_the_curves(client: Client, namespace: Namespace, judgement_set: JudgementSet) -> None:
    trace_set(namespace, judgement_set, Config(SYSTEMS["recall"]))
    page = collapse_whitespace(client.get("/here/tune/sensitivity/", {"by": "recall"}).content.decode())
    assert "over RRF k, the smoothing constant" in page
    whole = cached_arrays(judgement_set.traced.get(system="recall"))
    found = sweep_rrf_k(whole, Config(SYSTEMS["recall"]), MAIN_METRIC, Split.TUNE)
    assert [one.k for one in found.points] == list(PAPER_K_VALUES)
    table = re.search(r'<table class="sweep".*?</table>', page, re.DOTALL)
    assert table
    for one in found.points:
        expected = measure_config(whole, Config(SYSTEMS["recall"], {"rrf_k": one.k})).intervals(Split.TUNE)[MAIN_METRIC]
        assert one.metric == expected
        assert f"{format_number(expected.low, 3)} to {format_number(expected.high, 3)}" in table[0]
    assert "corrected for the number of values tried (Holm)" in page


def test_p_values_of_the_k_sweep_are_holm_corrected() -> None:
    whole = planted_arrays(SYSTEMS["recall"], 60)
    found = sweep_rrf_k(whole, Config(SYSTEMS["recall"], {"weight_semantic": 0.1}))
    tested = [one for one in found.points if one.comparison.won + one.comparison.lost > 5]
    assert len(tested) > 1
    raised = holm(np.array([one.comparison.p_value for one in tested]))
    assert [one.p_value for one in tested] == pytest.approx(raised.tolist())
    assert not found.current_point.significant


def test_a_system_without_k_leads_to_those_that_have_one(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    page = client.get("/here/tune/sensitivity/", {"metric": "mrr"}).content.decode()
    assert "blend has no RRF k to sweep" in page
    for name in ("recall", "memsense"):
        assert f'href="/here/tune/?by={name}&amp;metric=mrr">Sweep it for {name}</a>' in page


def test_candidate_parameters_are_listed_as_needing_a_new_query(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    page = collapse_whitespace(client.get("/here/tune/sensitivity/").content.decode())
    names = params_needing_new_query(resolve_config(namespace, params={}))
    assert "bm25_k1" in names
    assert page.count("needs a new query</td>") == len(names)
    assert get_page(client).count("needs a new query</small>") == len(names)


def test_categories_and_errors_come_with_their_intervals(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    found = measure_config(
        cached_arrays(judgement_set.traced.get(system="blend")), resolve_config(namespace, params={})
    )
    page = get_page(client, split="all")
    for name in ("people", "things"):
        expected = found.intervals("", name)[MAIN_METRIC]
        assert f"{format_number(expected.low, 3)} to {format_number(expected.high, 3)}</small>" in page
    lost = found.intervals("")["false_abstention"]
    assert f", {format_percent(lost.low)} to {format_percent(lost.high)}." in page.replace("&lt;", "<")


def test_a_configuration_is_saved_as_an_unpublished_version(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    client.post("/here/tune/save/", {"name": "careful", "here": "p.trust=0.4"})
    version = ProfileVersion.objects.within(namespace).get()
    assert (version.system, version.params) == ("blend", {"trust": 0.4})
    assert namespace.serving is None


def test_after_saving_the_page_shows_the_version_on_the_same_queries(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    name = "a&b #1 100%"
    saved = client.post("/here/tune/save/", {"name": name, "here": "p.trust=0.4&split=all&metric=mrr"})
    assert QueryDict(urlsplit(saved["Location"]).query).dict() == {"by": f"{name}@1", "split": "all", "metric": "mrr"}
    assert f"Saved as {escape(name)}@1" in client.get(saved["Location"]).content.decode()


def test_a_set_is_found_by_its_id_too(client: Client, namespace: Namespace, judgement_set: JudgementSet) -> None:
    make_judgement_set(namespace, "others")
    other = JudgementSet.objects.within(namespace).get(name="others")
    page = get_page(client, set=str(other.id))
    assert "<option selected>others</option>" in page
    assert "must be one of" not in page


def test_a_query_links_to_the_lab_with_the_served_config_and_its_as_of(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    then = datetime(2026, 1, 5, tzinfo=UTC)
    JudgedQuery.objects.within(namespace).filter(text="backup").update(as_of=then)
    version = add_profile_version(
        namespace, name="c d", system="blend", params={"trust": 0.4}, parent=None, note="", by=""
    )
    save_publication(namespace, None, note="", by="tests", profile_version_id=version.id)
    found = re.search(r'href="/here/lab/\?([^"]*query=backup[^"]*)"', get_page(client, **{"p.abstain_below": "1"}))
    assert found
    fields = QueryDict(unescape(found[1])).dict()
    assert fields == {"query": "backup", "by": "c d@1", "as_of": then.isoformat(), "p.abstain_below": "1"}


def test_a_reader_can_look_but_neither_run_nor_save(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    Membership.objects.filter(namespace=namespace).update(role=Role.READ)
    assert METRIC.search(get_page(client))
    assert client.post("/here/tune/trace/", {"here": ""}).status_code == 403
    assert client.post("/here/tune/save/", {"name": "x", "here": ""}).status_code == 403


def test_a_stranger_finds_nothing(client: Client, namespace: Namespace) -> None:
    Membership.objects.filter(namespace=namespace).delete()
    assert client.get("/here/tune/").status_code == 404
    assert client.get("/here/tune/sensitivity/").status_code == 404


def test_moving_a_slider_runs_few_sql_queries(
    client: Client,
    namespace: Namespace,
    judgement_set: JudgementSet,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    get_page(client)
    with django_assert_max_num_queries(17):
        client.get("/here/tune/", {"p.trust": "0.5"}, headers={"HX-Request": "true"})


def test_queries_added_since_are_reported_with_a_button_to_run_again(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    assert "Run them again" not in get_page(client)
    JudgedQuery.objects.create(namespace=namespace, judgement_set=judgement_set, text="Who sings?", kind="unanswerable")
    page = get_page(client)
    assert "1 query was added to the set and is not measured here" in page
    assert "Run them again" in page


def test_a_start_traced_with_other_queries_is_compared_on_the_shared_ones(
    client: Client, namespace: Namespace, judgement_set: JudgementSet
) -> None:
    JudgedQuery.objects.create(namespace=namespace, judgement_set=judgement_set, text="Who sings?", kind="unanswerable")
    trace_set(namespace, judgement_set, resolve_config(namespace, params={"bm25_k1": 2.0}))
    page = get_page(client, split="all", **{"p.bm25_k1": "2"})
    assert "nDCG@10, 7 queries" in page
    assert "false answers to 2 unanswerable queries" in page
    assert "never run with its own candidates" not in page


def test_a_start_that_was_never_run_says_so(client: Client, namespace: Namespace) -> None:
    trace_set(namespace, make_judgement_set(namespace), resolve_config(namespace, params={"bm25_k1": 2.0}))
    assert "The start was never run with its own candidates" in get_page(client, **{"p.bm25_k1": "2"})


@pytest.fixture
def live_world(live_server: LiveServer, transactional_db: None) -> Namespace:
    """The same world on the live server."""
    namespace = store_world("here")
    user = User.objects.create_user("ada", password="ada-ada-ada")
    Membership.objects.create(namespace=namespace, user=user, role=Role.ADMIN)
    trace_set(namespace, make_judgement_set(namespace), resolve_config(namespace, params={}))
    return namespace


def test_the_number_under_the_slider_changes_as_it_is_dragged(page: Page, live_world: Namespace) -> None:
    page.goto("/sign-in/?next=/here/tune/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("ada-ada-ada")
    page.get_by_role("button", name="Sign in").click()
    number = page.locator("#metric-1")
    before = number.inner_text()
    expect(page.locator("#curve-abstain_below svg")).to_be_visible(timeout=30_000)
    slider = page.locator("#p-abstain_below")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box
    default = BlendParams().abstain_below
    page.mouse.move(box["x"] + default * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(1, 11):
        part = default + (1 - default) * step / 10
        page.mouse.move(box["x"] + part * box["width"], box["y"] + box["height"] / 2)
    expect(number).to_have_text(".000", timeout=10_000)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"p\.abstain_below=1$"), timeout=10_000)
    expect(page.get_by_text("Lost most")).to_be_visible()
    page.get_by_role("button", name=f"back to {default:.2f}".replace("0.", ".")).click()
    expect(number).to_have_text(before, timeout=10_000)
    page.get_by_label("Start from").select_option("recall")
    expect(page.get_by_role("heading", name="Parameters of recall")).to_be_visible(timeout=10_000)
    expect(page.get_by_text("have not been run with recall yet")).to_be_visible()
    expect(page.get_by_text("Some values in the URL are invalid")).to_have_count(0)
