"""The Tune page: the metric moves with the slider, over all judged queries at once."""

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
from retrieval_world import told
from tuning_arrays import planted
from tuning_world import judged, traced

from memories.models import Job, JudgedQuery, JudgementSet, Membership, Namespace, ProfileVersion
from memories.models.choices import JobKind, Part, Role
from memories.retrieval.query import Setting
from memories.retrieval.settings import setting
from memories.templatetags.numbers import figure, percent
from memories.tuning.evaluating import MAIN, measured
from memories.tuning.holding import arrays
from memories.tuning.optimising import movable
from memories.tuning.profiles import add_version
from memories.tuning.sensitivity import PAPER, asking_again, curves, points
from memories.tuning.sweeping import sweep
from memories.tuning.versions import serve
from scoring.resampling import holm
from scoring.systems import SYSTEMS
from scoring.systems.blend import BlendParams

pytestmark = pytest.mark.django_db

SHOWN = re.compile(r'id="metric-1">([^<]+)<')


@pytest.fixture
def namespace(client: Client) -> Namespace:
    """The small world with a judged set, and somebody who may do everything signed in."""
    namespace = told("here")
    user = User.objects.create_user("ada", password="ada")
    Membership.objects.create(namespace=namespace, user=user, role=Role.ADMIN)
    client.force_login(user)
    return namespace


@pytest.fixture
def questions(namespace: Namespace) -> JudgementSet:
    """Judged questions, asked once."""
    whole = judged(namespace)
    traced(namespace, whole, setting(namespace, params={}))
    return whole


def shown(client: Client, **asked: Any) -> str:
    """The page at an address."""
    response = client.get("/here/tune/", asked)
    assert response.status_code == 200
    return response.content.decode()


def mean(namespace: Namespace, questions: JudgementSet, part: str = Part.TUNE, **params: Any) -> float:
    """The metric, measured apart from the page."""
    start = setting(namespace, params={})
    whole = questions.traced.get(system=start.system.name)
    return measured(arrays(whole), Setting(start.system, params)).mean(MAIN, part)


def test_the_page_tells_the_metric_of_what_serves(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    assert SHOWN.search(shown(client))[1] == figure(mean(namespace, questions), 3)  # type: ignore[index]


@pytest.mark.parametrize("part", ["all", "holdout"])
def test_the_metric_is_that_of_the_chosen_part(
    client: Client, namespace: Namespace, questions: JudgementSet, part: str
) -> None:
    expected = mean(namespace, questions, "" if part == "all" else part)
    assert SHOWN.search(shown(client, part=part))[1] == figure(expected, 3)  # type: ignore[index]


def test_a_moved_parameter_moves_the_metric_and_tells_who_lost(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    page = shown(client, **{"p.abstain_below": "1"})
    assert SHOWN.search(page)[1] == ".000" == figure(mean(namespace, questions, abstain_below=1.0), 3)  # type: ignore[index]
    assert "Lost most" in page
    assert "/here/lab/?query=backup" in page


def test_a_parameter_of_the_candidates_says_that_it_must_ask_again(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    assert "must be asked again" in shown(client, **{"p.bm25_k1": "2"})


def test_questions_that_were_never_asked_are_asked_by_a_job(client: Client, namespace: Namespace) -> None:
    judged(namespace)
    assert "have not been asked by blend yet" in shown(client)
    assert client.post("/here/tune/ask/", {"here": ""}).status_code == 302
    assert Job.objects.within(namespace).get(kind=JobKind.TRACE).params["system"] == "blend"
    assert "Asking every question of the set once" in shown(client)


def test_a_namespace_without_judgements_says_where_they_come_from(client: Client, namespace: Namespace) -> None:
    assert "no judged questions here yet" in shown(client)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("set", "nowhere", "must be one of questions"),
        ("part", "half", "must be one of all, tune, holdout"),
        ("metric", "f1", "must be one of ndcg@10"),
        ("by", "nobody", "must be a system"),
        ("p.trust", "7", "must be a number from 0 to 1; got 7.0"),
        ("p.nothing", "1", "nothing"),
    ],
)
def test_what_cannot_be_used_is_told_and_the_rest_stands(
    client: Client, namespace: Namespace, questions: JudgementSet, name: str, value: str, says: str
) -> None:
    page = shown(client, **{name: value}).replace("&#x27;", "'")
    assert says in page
    assert SHOWN.search(page)


def test_a_rule_that_the_start_helps_to_break_is_told_and_the_rest_stands(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    weights = [name for name in SYSTEMS["recall"].params.declared() if name.startswith("weight_")]
    start = {weights[0]: 0.0}
    add_version(namespace, name="x", system="recall", params=start, parent=None, note="", by="tests")
    traced(namespace, questions, setting(namespace, profile="x@1", params={}))
    page = shown(client, by="x@1", **{f"p.{name}": "0" for name in weights[1:]})
    assert "must not all be zero" in page
    assert SHOWN.search(page)


def test_another_start_comes_with_sliders_of_its_own_and_without_what_the_others_said(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    sent = {"stood": "", "by": "recall", "part": "holdout", "p.abstain_below": "0.5", "p.rrf_k": "20"}
    moved = client.get("/here/tune/", sent, headers={"HX-Request": "true"})
    assert moved["HX-Redirect"] == "/here/tune/?by=recall&part=holdout"
    page = client.get("/here/tune/", sent).content.decode()
    assert "Parameters of recall" in page
    assert "Not everything in the address can be used" not in page
    assert 'name="stood" value="recall"' in page


def test_a_system_of_which_hardly_anything_is_judged_leads_to_the_pool(
    client: Client, namespace: Namespace, questions: JudgementSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced(namespace, questions, setting(namespace, params={}))
    assert "so these numbers say little" not in shown(client)
    monkeypatch.setattr("memories.pages.tune.shown.BLIND", 0.1)
    page = shown(client)
    assert "so these numbers say little" in page
    assert f'href="/here/judgements/{questions.id}/"' in page


def test_every_curve_runs_through_what_a_slider_would_show(namespace: Namespace, questions: JudgementSet) -> None:
    start = setting(namespace, params={})
    whole = arrays(questions.traced.get(system="blend"))
    found = {one.name: one for one in curves(whole, start, MAIN, Part.TUNE, 600)}
    assert list(found) == movable(start)
    trust = found["trust"]
    assert list(trust.values) == points(start, "trust")
    for value, metric in zip(trust.values, trust.metric, strict=True):
        assert metric == measured(whole, Setting(start.system, {"trust": value})).mean(MAIN, Part.TUNE)
    assert found["abstain_below"].lowest == 0.0


def test_the_sensitivity_tells_every_parameter_and_the_strongest(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    page = client.get("/here/tune/sensitivity/").content.decode()
    for name in movable(setting(namespace, params={})):
        assert f'id="curve-{name}" hx-swap-oob="true"' in page
    found = re.search(r'<script id="fig-tornado" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    assert json.loads(found[1])["data"][0]["y"][-1] == "The least chance of an answer tha…"


def test_the_sweep_of_k_is_one_of_the_curves(client: Client, namespace: Namespace, questions: JudgementSet) -> None:
    traced(namespace, questions, Setting(SYSTEMS["recall"]))
    page = client.get("/here/tune/sensitivity/", {"by": "recall"}).content.decode()
    assert "over k, which flattens ranks" in page
    whole = arrays(questions.traced.get(system="recall"))
    found = sweep(whole, Setting(SYSTEMS["recall"]), MAIN, Part.TUNE)
    assert [one.k for one in found.rows] == list(PAPER)
    table = re.search(r'<table class="sweep".*?</table>', page, re.DOTALL)
    assert table
    for one in found.rows:
        told = measured(whole, Setting(SYSTEMS["recall"], {"rrf_k": one.k})).told(Part.TUNE)[MAIN]
        assert one.metric == told
        assert f"{figure(told.low, 3)} to {figure(told.high, 3)}" in table[0]
    assert "corrected for how many are tried (Holm)" in page


def test_the_more_k_are_tried_the_rarer_chance_must_be() -> None:
    whole = planted(SYSTEMS["recall"], 60)
    found = sweep(whole, Setting(SYSTEMS["recall"], {"weight_semantic": 0.1}))
    tested = [one for one in found.rows if one.moved.won + one.moved.lost > 5]
    assert len(tested) > 1
    raised = holm(np.array([one.moved.chance for one in tested]))
    assert [one.chance for one in tested] == pytest.approx(raised.tolist())
    assert not found.here.proven


def test_a_system_without_k_leads_to_those_that_have_one(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    page = client.get("/here/tune/sensitivity/", {"metric": "mrr"}).content.decode()
    assert "blend has no k to sweep" in page
    for name in ("recall", "memsense"):
        assert f'href="/here/tune/?by={name}&amp;metric=mrr">Sweep it for {name}</a>' in page


def test_what_decides_about_candidates_is_listed_as_asking_again(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    page = client.get("/here/tune/sensitivity/").content.decode()
    names = asking_again(setting(namespace, params={}))
    assert "bm25_k1" in names
    assert page.count("needs asking again</td>") == len(names)
    assert shown(client).count("needs asking again</small>") == len(names)


def test_categories_and_errors_come_with_their_intervals(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    found = measured(arrays(questions.traced.get(system="blend")), setting(namespace, params={}))
    page = shown(client, part="all")
    for name in ("people", "things"):
        told = found.told("", name)[MAIN]
        assert f"{figure(told.low, 3)} to {figure(told.high, 3)}</small>" in page
    lost = found.told("")["lost"]
    assert f", {percent(lost.low)} to {percent(lost.high)}." in page.replace("&lt;", "<")


def test_a_setting_is_kept_as_a_version_that_serves_nobody(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    client.post("/here/tune/save/", {"name": "careful", "here": "p.trust=0.4"})
    version = ProfileVersion.objects.within(namespace).get()
    assert (version.system, version.params) == ("blend", {"trust": 0.4})
    assert namespace.serving is None


def test_after_keeping_the_page_shows_the_version_on_the_same_queries(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    name = "a&b #1 100%"
    kept = client.post("/here/tune/save/", {"name": name, "here": "p.trust=0.4&part=all&metric=mrr"})
    assert QueryDict(urlsplit(kept["Location"]).query).dict() == {"by": f"{name}@1", "part": "all", "metric": "mrr"}
    assert f"Kept as {escape(name)}@1" in client.get(kept["Location"]).content.decode()


def test_a_set_is_found_by_its_id_too(client: Client, namespace: Namespace, questions: JudgementSet) -> None:
    judged(namespace, "others")
    other = JudgementSet.objects.within(namespace).get(name="others")
    page = shown(client, set=str(other.id))
    assert "<option selected>others</option>" in page
    assert "must be one of" not in page


def test_a_query_leads_to_the_lab_under_what_serves_and_at_its_moment(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    then = datetime(2026, 1, 5, tzinfo=UTC)
    JudgedQuery.objects.within(namespace).filter(text="backup").update(as_of=then)
    version = add_version(namespace, name="c d", system="blend", params={"trust": 0.4}, parent=None, note="", by="")
    serve(namespace, None, note="", by="tests", profile_version_id=version.id)
    found = re.search(r'href="/here/lab/\?([^"]*query=backup[^"]*)"', shown(client, **{"p.abstain_below": "1"}))
    assert found
    said = QueryDict(unescape(found[1])).dict()
    assert said == {"query": "backup", "by": "c d@1", "as_of": then.isoformat(), "p.abstain_below": "1"}


def test_a_reader_can_look_but_neither_ask_nor_keep(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    Membership.objects.filter(namespace=namespace).update(role=Role.READ)
    assert SHOWN.search(shown(client))
    assert client.post("/here/tune/ask/", {"here": ""}).status_code == 403
    assert client.post("/here/tune/save/", {"name": "x", "here": ""}).status_code == 403


def test_a_stranger_finds_nothing(client: Client, namespace: Namespace) -> None:
    Membership.objects.filter(namespace=namespace).delete()
    assert client.get("/here/tune/").status_code == 404
    assert client.get("/here/tune/sensitivity/").status_code == 404


def test_moving_a_slider_asks_few_questions_of_the_database(
    client: Client, namespace: Namespace, questions: JudgementSet, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    shown(client)
    with django_assert_max_num_queries(17):
        client.get("/here/tune/", {"p.trust": "0.5"}, headers={"HX-Request": "true"})


def test_queries_that_came_since_are_told_and_asked_for_again(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    assert "Ask them again" not in shown(client)
    JudgedQuery.objects.create(namespace=namespace, judgement_set=questions, text="Who sings?", kind="never_stored")
    page = shown(client)
    assert "1 query came into the set, not measured here" in page
    assert "Ask them again" in page


def test_a_start_that_was_asked_with_other_queries_is_compared_on_those_that_both_have(
    client: Client, namespace: Namespace, questions: JudgementSet
) -> None:
    JudgedQuery.objects.create(namespace=namespace, judgement_set=questions, text="Who sings?", kind="never_stored")
    traced(namespace, questions, setting(namespace, params={"bm25_k1": 2.0}))
    page = shown(client, part="all", **{"p.bm25_k1": "2"})
    assert "nDCG@10, 7 queries" in page
    assert "of 2 never stored are answered" in page
    assert "never asked with candidates of its own" not in page


def test_a_start_that_was_never_asked_says_so(client: Client, namespace: Namespace) -> None:
    traced(namespace, judged(namespace), setting(namespace, params={"bm25_k1": 2.0}))
    assert "The start was never asked with candidates of its own" in shown(client, **{"p.bm25_k1": "2"})


@pytest.fixture
def served(live_server: LiveServer, transactional_db: None) -> Namespace:
    """The same world where a browser can see it."""
    namespace = told("here")
    user = User.objects.create_user("ada", password="ada-ada-ada")
    Membership.objects.create(namespace=namespace, user=user, role=Role.ADMIN)
    traced(namespace, judged(namespace), setting(namespace, params={}))
    return namespace


def test_the_number_under_the_slider_changes_as_it_is_dragged(page: Page, served: Namespace) -> None:
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
    usual = BlendParams().abstain_below
    page.mouse.move(box["x"] + usual * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(1, 11):
        part = usual + (1 - usual) * step / 10
        page.mouse.move(box["x"] + part * box["width"], box["y"] + box["height"] / 2)
    expect(number).to_have_text(".000", timeout=10_000)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"p\.abstain_below=1$"), timeout=10_000)
    expect(page.get_by_text("Lost most")).to_be_visible()
    page.get_by_role("button", name=f"back to {usual:.2f}".replace("0.", ".")).click()
    expect(number).to_have_text(before, timeout=10_000)
    page.get_by_label("Start from").select_option("recall")
    expect(page.get_by_role("heading", name="Parameters of recall")).to_be_visible(timeout=10_000)
    expect(page.get_by_text("have not been asked by recall yet")).to_be_visible()
    expect(page.get_by_text("Not everything in the address can be used")).to_have_count(0)
