"""The Lab: a query is run, explained, reranked by sliders, compared and judged."""

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from memories.models import DailyAccess, Judgement, Membership, Memory, Namespace, ProfileVersion, Publication, Trace
from memories.pages.lab.charts import short_chart_label
from memories.pages.lab.contributions import score_contributions
from memories.retrieval.retrieve import retrieve
from memories.writing.edit import edit_memory
from memories.writing.feedback import confirm_memory
from scoring.systems import SYSTEMS
from tests.support.markup import collapse_whitespace
from tests.support.retrieval_world import make_query, memory

pytestmark = pytest.mark.django_db

QUESTION = "Which database does Maya prefer for invoicing?"
HTMX = {"HX-Request": "true", "HX-Target": "answer"}


@pytest.fixture
def maya(world: Namespace) -> User:
    user = User.objects.create_user("maya", password="tall-ships-7")
    Membership.objects.create(user=user, namespace=world, role="admin")
    return user


@pytest.fixture
def signed_in(client: Client, maya: User) -> Client:
    client.force_login(maya)
    return client


def run_query(client: Client, **sent: Any) -> str:
    """Run the query and return the URL of its trace."""
    answer = client.get("/asked/lab/", {"query": QUESTION, "by": "recall", **sent})
    assert answer.status_code == 302
    return str(answer["Location"])


def text(answer: HttpResponse) -> str:
    assert answer.status_code == 200
    return collapse_whitespace(answer.content.decode())


def test_a_preset_is_picked_by_name_and_stays_in_the_address(signed_in: Client) -> None:
    address = run_query(signed_in, by="recall/exploratory")
    assert "by=recall%2Fexploratory" in address
    page = text(signed_in.get(address))
    assert '<option value="recall/exploratory" selected>recall, exploratory</option>' in page
    assert Trace.objects.latest("at").params == {"rrf_k": 90.0}
    beside = text(signed_in.get(f"{address}&beside=recall/exact-match"))
    assert "recall/exact-match" in beside
    refused = signed_in.get("/asked/lab/", {"query": QUESTION, "by": "recall/fast"})
    assert refused.status_code == 400
    assert "must be one of exact-match, exploratory; got" in refused.content.decode()


def order(page: str) -> list[str]:
    """The ids of the hits, from the top."""
    return re.findall(r'<li id="hit-([0-9a-f-]{36})"', page)


def trace_of(address: str) -> Trace:
    return Trace.objects.get(id=UUID(parse_qs(urlsplit(address).query)["trace"][0]))


def test_the_empty_lab_invites_a_query(signed_in: Client) -> None:
    page = text(signed_in.get("/asked/lab/"))
    assert "Run a query" in page
    assert "style=" not in page


def test_a_query_leaves_a_trace_and_its_url_shows_it_again(signed_in: Client) -> None:
    address = run_query(signed_in)
    first, second = text(signed_in.get(address)), text(signed_in.get(address))
    assert order(first) == order(second) == [one["id"] for one in trace_of(address).answer["results"]]
    assert "PostgreSQL" in first
    assert Trace.objects.count() == 1


def test_the_lab_shows_the_weight_profile_and_the_half_life_with_their_reasons(signed_in: Client) -> None:
    address = run_query(signed_in, query="Why does Maya prefer PostgreSQL now?", by="memorysync")
    page = text(signed_in.get(address))
    assert "Weight profile analytical: because of “why”; it raises the graph weight." in page
    assert "Recency half-life 24 h: intent HIGH, because of “now”." in page
    assert re.search(r"<span>graph</span><b>\.130</b>", page)
    moved = text(signed_in.get(f"{address}&p.weight_graph=0.5", headers=HTMX))
    assert "Weight profile none: weights are given, so the query does not adapt them." in moved
    assert "Weight profile" not in text(signed_in.get(run_query(signed_in, by="recall")))


def test_a_slider_that_cannot_move_anything_is_dimmed_and_says_why(signed_in: Client) -> None:
    address = run_query(signed_in, query="Which database is in use?", by="memorysync")
    page = text(signed_in.get(address))
    for name, reason in (
        ("freshness_floor", "decay has no weight"),
        ("half_life_event", "decay has no weight"),
        ("half_life_low", "the recency intent is MEDIUM"),
    ):
        assert re.search(rf'data-param="{name}" class="[^"]*\binert"', page)
        assert f'<small class="no-effect" id="p-{name}-i" >No effect: <span>{reason}</span></small>' in page
    assert '<small class="no-effect" id="p-half_life_medium-i" hidden >' in page
    moved = signed_in.get(f"{address}&p.weight_decay=0.3", headers=HTMX).content.decode()
    reasons = json.loads(re.search(r'<script id="inert" type="application/json">(.*?)</script>', moved)[1])  # type: ignore[index]
    assert "freshness_floor" not in reasons
    assert reasons["half_life_low"] == "the recency intent is MEDIUM"


def test_the_lab_says_when_the_tiebreak_ordered_the_results(signed_in: Client) -> None:
    address = run_query(signed_in, by="memorysync")
    assert "Tiebreak: the hybrid scores hardly differ" not in text(signed_in.get(address))
    zero = "&".join(f"p.weight_{factor}=0" for factor in ("semantic", "cluster", "recency", "importance", "usage"))
    page = text(signed_in.get(f"{address}&{zero}&p.weight_quality=1"))
    assert "Tiebreak: the hybrid scores hardly differ (σ below .02)" in page


def test_a_trace_alone_is_an_address(signed_in: Client) -> None:
    trace = trace_of(run_query(signed_in))
    page = text(signed_in.get("/asked/lab/", {"trace": trace.id}))
    assert order(page)
    assert f"> {QUESTION}</textarea>" in page


def test_a_long_query_is_posted_and_saved_under_an_address_that_names_its_trace(signed_in: Client) -> None:
    query = "Which database " * 100 + "is used?"
    answer = signed_in.post("/asked/lab/", {"query": query, "by": "recall"})
    assert answer.status_code == 302
    address = answer["Location"]
    assert len(address) < 200
    assert f"{query}</textarea>" in text(signed_in.get(address))
    saved = signed_in.post("/asked/lab/save/", {"trace": trace_of(address).id, "name": "mine", "p.rrf_k": "20"})
    assert len(saved["Location"]) < 200
    assert "of=" in saved["Location"]
    again = signed_in.get(saved["Location"])
    assert trace_of(again["Location"]).query == query
    assert trace_of(again["Location"]).request["profile"] == "mine"


def test_an_address_of_a_query_whose_trace_is_gone_says_so(signed_in: Client) -> None:
    answer = signed_in.get("/asked/lab/", {"of": str(uuid4())})
    assert answer.status_code == 404
    assert "may be past its retention" in answer.content.decode()


def test_exploring_counts_no_access(signed_in: Client) -> None:
    before = list(Memory.objects.order_by("id").values_list("access_count", flat=True))
    address = run_query(signed_in)
    signed_in.get(f"{address}&p.rrf_k=20&beside=all")
    assert list(Memory.objects.order_by("id").values_list("access_count", flat=True)) == before
    assert not DailyAccess.objects.exists()


def test_each_hit_explains_its_rank_in_one_sentence(signed_in: Client) -> None:
    page = text(signed_in.get(run_query(signed_in)))
    assert (
        "3rd by semantic, 1st by BM25, 3rd by entity graph, 8th by graph traversal; "
        "90 days old keeps 50 %, 4 uses lift it ×2.61." in page
    )


def test_each_parameter_of_an_explanation_leads_to_its_slider(signed_in: Client) -> None:
    page = text(signed_in.get(run_query(signed_in)))
    linked = set(re.findall(r'href="#(p-[a-z_0-9]+)"', page))
    assert {"p-rrf_k", "p-weight_semantic", "p-freshness_floor"} <= linked
    assert all(f'id="{name}"' in page for name in linked)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_is_shown_with_bars_that_add_up_to_its_scores(world: Namespace, system: str) -> None:
    retrieval = retrieve(make_query(world, QUESTION, system))
    parts = score_contributions(retrieval)
    assert sum(parts.values()) == pytest.approx(retrieval.ranking.score.value)
    assert all(np.isfinite(part).all() for part in parts.values())


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_has_a_page_with_all_its_sliders(signed_in: Client, system: str) -> None:
    page = text(signed_in.get(run_query(signed_in, by=system)))
    assert all(f'id="p-{name}"' in page for name in SYSTEMS[system].params.declarations())
    assert "style=" not in page
    json.loads(re.findall(r'<script id="fig-skyline" type="application/json">(.*?)</script>', page)[0])


def test_a_moved_slider_reranks_the_trace_and_marks_rank_changes(signed_in: Client) -> None:
    address = run_query(signed_in)
    start = order(text(signed_in.get(address)))
    answer = signed_in.get(f"{address}&p.weight_bm25=0.05&p.weight_semantic=3&p.rrf_k=60", headers=HTMX)
    page = text(answer)
    assert "<html" not in page
    assert order(page) != start
    assert "Replayed from trace" in page
    assert re.search(r"Against the start: \d+ up, \d+ down, \d+ new, \d+ left\.", page)
    assert re.search(r'<span class="move down">▼ \d+<span class="vh"> down from \d+</span>', page)
    assert "p.rrf_k" not in answer["HX-Replace-Url"]  # unchanged against the start
    assert order(text(signed_in.get(answer["HX-Replace-Url"]))) == order(page)
    assert Trace.objects.count() == 1


def test_a_candidate_parameter_runs_a_new_query_and_the_page_says_so(signed_in: Client) -> None:
    page = text(signed_in.get(f"{run_query(signed_in)}&p.bm25_b=0.1", headers=HTMX))
    assert "Queried again live" in page
    assert "because of bm25 b." in page


def test_mmr_that_was_off_runs_a_new_query_and_the_page_says_so(signed_in: Client) -> None:
    page = text(signed_in.get(f"{run_query(signed_in, by='recall')}&p.mmr=on", headers=HTMX))
    assert "Queried again live" in page
    assert "because of mmr." in page


def test_an_invalid_value_is_reported_and_the_ranking_stays(signed_in: Client) -> None:
    address = run_query(signed_in)
    start = order(text(signed_in.get(address)))
    page = text(signed_in.get(f"{address}&p.rrf_k=9999&p.nonsense=1", headers=HTMX))
    assert "must be a number from 10 to 200; got 9999" in page
    assert "is not a parameter here" in page
    assert order(page) == start


def test_an_invalid_form_keeps_what_was_typed(signed_in: Client) -> None:
    answer = signed_in.get(
        "/asked/lab/", {"query": QUESTION, "top_k": "999", "as_of": "2030-01-01", "by": "nonsense", "types": "Whim"}
    )
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "must be at most 100" in page
    assert "must be one of recall" in page
    assert 'value="999"' in page
    ahead = signed_in.get("/asked/lab/", {"query": QUESTION, "as_of": "2030-01-01"}).content.decode()
    assert "must not lie in the future" in ahead
    assert 'name="top_k" size="2" inputmode="numeric" value="10"' in ahead


def test_a_past_day_is_answered_as_of_its_end(signed_in: Client) -> None:
    address = run_query(signed_in, as_of="2026-01-01")
    assert trace_of(address).as_of.isoformat().startswith("2026-01-01T23:59")
    assert "As of 1 Jan 2026" in text(signed_in.get(address))


def test_an_abstaining_answer_shows_the_nearest_and_why(signed_in: Client) -> None:
    address = run_query(signed_in, by="blend", query="What is the capital of Mongolia?")
    page = text(signed_in.get(f"{address}&p.abstain_below=1"))
    assert "Nothing is returned." in page
    assert "Nearest, not returned" in page


def test_an_unlikely_answer_that_is_to_be_flagged_is_shown_as_such(signed_in: Client) -> None:
    address = run_query(signed_in, by="blend", query="What is the capital of Mongolia?", on_low_confidence="flag")
    page = text(signed_in.get(f"{address}&p.abstain_below=1"))
    assert "low confidence" in page
    assert "flagged, not withheld" in page
    assert "Nothing is returned." not in page
    assert '<option value="flag" selected>' in signed_in.get(address).content.decode()
    refused = signed_in.get("/asked/lab/", {"query": "x", "on_low_confidence": "maybe"})
    assert refused.status_code == 400
    assert "must be one of abstain, flag; got" in refused.content.decode()


@pytest.mark.parametrize("by", ["recall", "blend"])
def test_a_hit_says_whose_it_is_where_users_differ_here_and_in_its_trace(signed_in: Client, by: str) -> None:
    address = run_query(signed_in, query="Who is allergic to hazelnuts?", by=by)
    (trace,) = re.findall(r"trace=([\w-]+)", address)
    for page in (address, f"/asked/traces/{trace}/"):
        shown = text(signed_in.get(page))
        assert '<span class="owner">user &quot;maya&quot;</span>' in shown
        assert '<span class="owner">no user&#x27;s</span>' in shown
    alone = run_query(signed_in, query="Who is allergic to hazelnuts?", by=by, tags="health", user="maya")
    assert "Alma is allergic to hazelnuts" in text(signed_in.get(alone))
    assert 'class="owner"' not in text(signed_in.get(alone))


def test_the_query_of_an_expired_trace_runs_again_and_the_page_says_so(signed_in: Client) -> None:
    address = run_query(signed_in, trace="01900000-0000-7000-8000-000000000000")
    assert "The trace in this URL has expired" in text(signed_in.get(address))
    assert signed_in.get("/asked/lab/", {"trace": "01900000-0000-7000-8000-000000000000"}).status_code == 404


def test_another_system_is_compared_with_its_rank_agreement(signed_in: Client) -> None:
    address = run_query(signed_in)
    page = text(signed_in.get(f"{address}&beside=all", headers={"HX-Request": "true", "HX-Target": "beside"}))
    assert "Kendall’s τ" in page
    figure = json.loads(re.findall(r'<script id="fig-bump" type="application/json">(.*?)</script>', page)[0])
    assert figure["layout"]["xaxis"]["ticktext"] == ["recall, now", *(name for name in SYSTEMS if name != "recall")]
    assert "must be one of all, recall" in text(signed_in.get(f"{address}&beside=nonsense"))


def test_a_memory_that_did_not_come_back_is_explained_and_one_click_brings_it_in(
    signed_in: Client, world: Namespace
) -> None:
    unsure = memory(world, "The kitchen at Arrive")
    address = run_query(signed_in, query="What is new in the kitchen at Arrive?")
    assert str(unsure.id) not in order(text(signed_in.get(address)))
    page = text(signed_in.get(f"{address}&missing={unsure.id}", headers={"HX-Request": "true", "HX-Target": "why-not"}))
    assert "filtered: low confidence" in page
    apply = re.findall(r'<a class="btn" href="([^"]+)">Apply</a>', page)[0].replace("&amp;", "&")
    assert str(unsure.id) in order(text(signed_in.get(apply)))


def test_an_old_trace_explains_its_own_misses_and_offers_a_new_query_for_the_rest(
    signed_in: Client, world: Namespace
) -> None:
    unsure = memory(world, "The kitchen at Arrive")
    address, swap = run_query(signed_in, query="What is new in the kitchen at Arrive?"), {"HX-Request": "true"}
    for _ in range(6):
        confirm_memory(world, unsure.id, by="tests")
    panel = text(signed_in.get(f"{address}&missing={unsure.id}", headers={**swap, "HX-Target": "why-not"}))
    assert "filtered: low confidence" in panel
    assert "From trace" in panel
    address = run_query(signed_in, query="What is new in the kitchen at Arrive?", tags="kitchen")
    edit_memory(world, unsure.id, {"tags": ["kitchen"]}, by="tests")
    panel = text(signed_in.get(f"{address}&missing={unsure.id}", headers={**swap, "HX-Target": "why-not"}))
    assert "Queried live, because a trace stores nothing of a memory that was no candidate." in panel
    again = re.findall(r'<a class="btn" href="([^"]+)">Run again</a>', panel)[0].replace("&amp;", "&")
    assert str(unsure.id) in order(text(signed_in.get(signed_in.get(again)["Location"])))


def test_a_missed_memory_is_found_by_its_words(signed_in: Client, world: Namespace) -> None:
    page = text(
        signed_in.get(f"{run_query(signed_in)}&find=hazelnuts", headers={"HX-Request": "true", "HX-Target": "why-not"})
    )
    assert f"missing={memory(world, 'Alma').id}" in page
    assert "must be the id of one of this namespace" in text(signed_in.get(f"{run_query(signed_in)}&missing=nonsense"))


def test_words_that_no_database_takes_are_refused(signed_in: Client) -> None:
    assert 'class="problem"' in text(signed_in.get(f"{run_query(signed_in)}&find=a%00b"))


def test_a_tag_in_a_memory_stays_text_in_a_chart() -> None:
    assert short_chart_label("<b>bold</b>") == "&lt;b&gt;bold&lt;/b&gt;"


def test_an_explanation_comes_when_it_is_opened(signed_in: Client) -> None:
    address = run_query(signed_in)
    moved = text(signed_in.get(f"{address}&p.rrf_k=20", headers=HTMX))
    assert 'class="tree"' not in moved
    first = order(moved)[0]
    tree = text(
        signed_in.get(
            f"{address}&p.rrf_k=20&explain={first}", headers={"HX-Request": "true", "HX-Target": f"tree-{first}"}
        )
    )
    assert tree.strip().startswith('<div class="tree">')
    assert '<a href="#p-rrf_k">20</a>' in tree


def test_a_grade_is_stored_and_the_last_one_wins(signed_in: Client) -> None:
    address = run_query(signed_in)
    hit = order(text(signed_in.get(address)))[0]
    for grade in (1, 3):
        sent = {"trace": trace_of(address).id, "grade": f"{hit} {grade}", "here": urlsplit(address).query}
        answer = signed_in.post("/asked/lab/judge/", sent)
        assert answer["Location"] == address
    judgement = Judgement.objects.get()
    assert (judgement.grade, str(judgement.memory_id), judgement.judged_by) == (3, hit, "maya")
    assert (judgement.query.text, judgement.query.judgement_set.name) == (QUESTION, "Lab")
    assert f'value="{hit} 3" aria-pressed="true"' in text(signed_in.get(address))
    assert signed_in.post("/asked/lab/judge/", {**sent, "grade": f"{hit} 4"}).status_code == 400


def test_changed_parameters_are_saved_as_an_unpublished_profile(signed_in: Client) -> None:
    trace = trace_of(run_query(signed_in))
    sent = {"trace": trace.id, "name": "careful", "p.rrf_k": "20", "p.weight_bm25": "1"}
    answer = signed_in.post("/asked/lab/save/", sent)
    version = ProfileVersion.objects.get()
    assert (version.system, version.params, version.number) == ("recall", {"rrf_k": 20.0}, 1)
    assert "by=careful%401" in answer["Location"]
    assert not Publication.objects.exists()
    saved = signed_in.get(answer["Location"])["Location"]
    assert trace_of(saved).params == {"rrf_k": 20.0}
    assert f'Saved as <a href="/asked/profiles/{version.id}/">careful@1</a>.' in text(signed_in.get(saved))
    assert signed_in.post("/asked/lab/save/", {**sent, "name": "a@b"}).status_code == 400
    assert signed_in.post("/asked/lab/save/", {**sent, "p.rrf_k": "9999"}).status_code == 400


def test_who_only_reads_sees_no_buttons_that_write_and_may_not(client: Client, world: Namespace) -> None:
    reader = User.objects.create_user("reader")
    Membership.objects.create(user=reader, namespace=world, role="read")
    client.force_login(reader)
    address = run_query(client)
    page = text(client.get(address))
    assert 'class="judge"' not in page
    assert "Save as profile" not in page
    for act, sent in (("judge", {"grade": f"{order(page)[0]} 3"}), ("save", {"name": "mine"})):
        assert client.post(f"/asked/lab/{act}/", {"trace": trace_of(address).id, **sent}).status_code == 403


def test_another_namespace_and_its_traces_do_not_exist(signed_in: Client, world: Namespace, maya: User) -> None:
    trace = trace_of(run_query(signed_in))
    other = Namespace.objects.create(slug="other", title="Other")
    assert signed_in.get("/other/lab/").status_code == 404
    Membership.objects.create(user=maya, namespace=other, role="admin")
    assert signed_in.get("/other/lab/", {"trace": trace.id}).status_code == 404
    assert signed_in.post("/other/lab/save/", {"trace": trace.id, "name": "x"}).status_code == 404
    own = memory(world, "Alma").id
    mine = signed_in.get("/other/lab/", {"query": "Anything?"})["Location"]
    sent = {"trace": parse_qs(urlsplit(mine).query)["trace"][0], "grade": f"{own} 3"}
    assert signed_in.post("/other/lab/judge/", sent).status_code == 404
    assert "No retriever found anything" in text(signed_in.get(mine))


def test_a_moved_slider_runs_a_bounded_number_of_sql_queries(
    signed_in: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    address = run_query(signed_in)
    signed_in.get(address)
    with django_assert_max_num_queries(12):
        signed_in.get(f"{address}&p.rrf_k=20", headers=HTMX)
    with django_assert_max_num_queries(18):
        signed_in.get(address)
