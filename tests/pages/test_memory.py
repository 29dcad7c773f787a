"""The page of one memory: its numbers, where they come from, and the actions on it."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory, Utterance
from memories.contracts.number_format import format_number
from memories.models import DailyAccess, Membership, Memory, MemoryEdge, Namespace, ScoreEvent
from memories.models.choices import EdgeKind, Status
from memories.pages.explanation_nodes import explanation_node
from memories.pages.memory import evidence_history, surroundings
from memories.pages.memory.charts import confidence_chart
from memories.pages.memory.evidence_history import confidence_waterfall
from memories.writing import feedback
from memories.writing.evidence import load_evidence
from memories.writing.remember import remember
from scoring.policy import WritePolicyParams
from scoring.systems import SYSTEMS
from tests.support.memory_pages import MEMORIES, NOW, fill_home, page_text, store_memories

pytestmark = pytest.mark.django_db


@pytest.fixture
def home(home: Namespace) -> Namespace:
    return fill_home(home)


@pytest.fixture
def coffee(home: Namespace) -> Memory:
    return Memory.objects.within(home).get(content=MEMORIES[0][0])


@pytest.fixture
def database(home: Namespace) -> Memory:
    return Memory.objects.within(home).get(content=MEMORIES[1][0])


def at(memory: Memory, rest: str = "") -> str:
    return f"/home/memories/{memory.id}/{rest}"


def chart_json(page: str, id: str) -> dict[str, Any]:
    """A figure as the page holds it."""
    (told,) = re.findall(rf'<script id="{id}" type="application/json">(.*?)</script>', page, re.S)
    return json.loads(told)  # type: ignore[no-any-return]


def test_grounding_and_provenance_are_edited_on_the_page(signed_in: Client, coffee: Memory) -> None:
    page = page_text(signed_in, at(coffee))
    assert "<dt>Provenance</dt> <dd> direct </dd>" in page
    wrong = signed_in.post(at(coffee, "edit/"), {"grounding": "partial", "provenance_depth": "two"})
    assert wrong.status_code == 400
    assert "provenance_depth must be" in wrong.content.decode()
    assert 'value="two"' in wrong.content.decode()
    signed_in.post(at(coffee, "edit/"), {"grounding": "partial", "provenance_depth": "2"})
    page = page_text(signed_in, at(coffee))
    assert "2 hops from its source" in page
    assert f"partial, confidence −{format_number(0.2, 2)}" in page
    assert f"Confidence {format_number(coffee.confidence - 0.2, 4)}" in page
    assert "grounding supported → partial" in page
    assert "provenance depth 0 → 2" in page
    signed_in.post(at(coffee, "edit/"), {"grounding": "unsupported", "provenance_depth": "2"})
    assert "Its source does not support it." in page_text(signed_in, at(coffee))


def test_the_confidence_is_the_sum_of_its_four_signals(signed_in: Client, coffee: Memory) -> None:
    page = page_text(signed_in, at(coffee))
    assert f"Confidence {format_number(coffee.confidence, 4)}" in page
    bars = chart_json(page, "fig-confidence")["data"]
    assert sum(bars[0]["x"]) == pytest.approx(coffee.confidence)
    assert bars[-1]["x"] == [coffee.confidence]
    assert ".45 × .95 + .20 × 0 + .25 × .8 + .10 × .75 = <b>.7025</b>" in page


def test_what_a_confirmation_would_give_is_what_it_gives(signed_in: Client, coffee: Memory) -> None:
    (promised,) = re.findall(r"Confirming now would make it (.*?)\.</p>", page_text(signed_in, at(coffee)))
    answer = signed_in.post(at(coffee, "confirm/"), follow=True)
    coffee.refresh_from_db()
    assert promised == format_number(coffee.confidence, 4)
    page = answer.content.decode()
    assert f"Confirmed: its confidence went from .7025 to {promised}." in page
    assert re.search(r"<td>.*?Confirmed.*?</td>", page, re.S)
    assert "Confirmed: its confidence" not in page_text(signed_in, at(coffee))


def test_a_partly_grounded_confidence_shows_what_was_taken_off(home: Namespace, coffee: Memory) -> None:
    policy = WritePolicyParams()
    standing = load_evidence(home, [coffee.id], policy)[coffee.id]
    standing.evidence = replace(standing.evidence, grounding="partial")
    parts = confidence_waterfall([], standing, policy)
    assert (parts.deducted_by, parts.deduction) == ("Grounding", pytest.approx(-policy.grounding_penalty))
    assert parts.equation.endswith(f" − {format_number(policy.grounding_penalty)}")
    off = confidence_chart(parts, 0.5, 0.75)["data"][1]
    assert (off["base"], off["x"]) == ([parts.confidence], [pytest.approx(policy.grounding_penalty)])


def test_the_history_tells_every_change_and_its_cause(signed_in: Client, home: Namespace, coffee: Memory) -> None:
    other = Memory.objects.within(home).get(content=MEMORIES[3][0])
    feedback.contradict_memories(home, coffee.id, other.id, reason="he never drank any", by="tests")
    feedback.record_feedback(home, coffee.id, useful=True, by="tests")
    page = page_text(signed_in, at(coffee))
    (table,) = re.findall(r'aria-label="Evidence">\s*<thead>.*?</thead>(.*?)</table>', page, re.S)
    rows = [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in re.findall(r"<tr>(.*?)</tr>", table, re.S)]
    assert len(rows) == ScoreEvent.objects.within(home).filter(memory_id=coffee.id).count() == 3
    assert rows[0].startswith("2 Mar 2026 Stored in breakfast")
    assert f"Contradicted: {other.content} (“he never drank any”)" in rows[1]
    assert rows[1].endswith("3.5 −1.5")
    assert "Found useful, useful 0 → 1" in rows[2]
    assert chart_json(page, "fig-belief")["data"][1]["y"] == [5.0, 3.5, 3.5]


def test_the_curve_halves_every_half_life_and_marks_today(signed_in: Client, database: Memory) -> None:
    page = page_text(signed_in, at(database))
    assert "Freshness .86 today" in page
    assert "Halves every 90 days, reaches its floor of .10 on" in page
    lines = chart_json(page, "fig-decay")["data"]
    assert lines[-1]["y"] == [pytest.approx(2 ** (-20 / 90), abs=1e-4)]


def test_another_half_life_is_tried_beside_the_served_one(signed_in: Client, database: Memory) -> None:
    page = page_text(signed_in, at(database, "?p.half_life_preference=20"))
    assert "Freshness .50 today" in page
    assert "Halves every 20 days" in page
    assert len(chart_json(page, "fig-decay")["data"]) == 3
    refused = page_text(signed_in, at(database, "?p.half_life_preference=9000"))
    assert "half_life_preference must be a number from 1 to 730" in refused.replace("at least", "")


def test_htmx_gets_the_curve_or_the_scores_alone(signed_in: Client, database: Memory) -> None:
    asked = at(database, "?p.half_life_preference=20&q=database")
    decay = signed_in.get(asked, headers={"HX-Request": "true", "HX-Target": "decay"}).content.decode()
    assert decay.strip().startswith('<div id="decay">')
    assert "fig-confidence" not in decay
    scores = signed_in.get(asked, headers={"HX-Request": "true", "HX-Target": "scores"}).content.decode()
    assert scores.strip().startswith('<div id="scores"')
    assert "fig-decay" not in scores


def test_every_system_says_where_it_stands_and_nothing_is_recorded(signed_in: Client, database: Memory) -> None:
    page = page_text(signed_in, at(database, "?q=which+database+for+a+new+service"))
    for system in SYSTEMS:
        assert f"<b>{system}</b>" in page
    (listed,) = re.findall(r'<ol class="hits">(.*?)</ol>', page, re.S)
    assert re.findall(r'<div class="rank">(\d+)</div>', listed)
    assert "semantic 1st" in listed
    assert 'class="tree"' in listed
    database.refresh_from_db()
    assert database.access_count == 0
    assert "query must have at most" in page_text(signed_in, at(database, "?q=" + "x" * 10_001))


def test_where_it_does_not_come_back_the_reason_can_be_asked_for(signed_in: Client, home: Namespace) -> None:
    oven = Memory.objects.within(home).get(content=MEMORIES[4][0])
    assert oven.confidence < 0.5
    page = page_text(signed_in, at(oven, "?q=a+new+oven+for+the+kitchen"))
    assert "filtered: low confidence" in page
    told = signed_in.get(
        at(oven, "?q=a+new+oven+for+the+kitchen&why=recall"),
        headers={"HX-Request": "true", "HX-Target": "missed-recall"},
    )
    said = told.content.decode()
    assert "It was found and filtered: low confidence." in said
    assert re.search(r"\. Minimum confidence: \.\d+ instead of \.5 brings it in, 4th\.", said)
    assert "semantic 1st</span>" in said
    assert "It was found and filtered" in page_text(signed_in, at(oven, "?q=a+new+oven+for+the+kitchen&why=recall"))
    wrong = signed_in.get(at(oven, "?q=x&why=none"), headers={"HX-Request": "true", "HX-Target": "missed-none"})
    assert wrong.status_code == 404


def test_neighbours_stand_in_the_bands_of_the_policy(signed_in: Client, database: Memory) -> None:
    page = page_text(signed_in, at(database))
    assert "judged from .85, restatements merged above .92" in page
    near = chart_json(page, "fig-near")
    assert near["data"][0]["x"] == sorted(near["data"][0]["x"], reverse=True)
    assert [shape["x0"] for shape in near["layout"]["shapes"] if shape["type"] == "rect"] == [0.85, 0.92]
    assert MEMORIES[2][0] in page


def test_sources_uses_entities_and_edges_are_shown(signed_in: Client, home: Namespace, coffee: Memory) -> None:
    other = Memory.objects.within(home).get(content=MEMORIES[1][0])
    edge = MemoryEdge(namespace=home, source_id=coffee.id, target_id=other.id, kind=EdgeKind.DETAIL_OF)
    edge.save(force_insert=True)
    DailyAccess.objects.create(namespace=home, memory_id=coffee.id, day=NOW.date(), count=2)
    page = page_text(signed_in, at(coffee))
    assert "Said 1 time<" in page
    assert re.search(r"direct \.95 · <a[^>]*>breakfast</a>", page)
    assert "<span>2 Mar 2026</span>" in page
    assert re.search(r"<dd>\s*<a[^>]*>Maya</a>", page)
    assert "<dt>detail of</dt>" in page
    assert [note["text"] for note in chart_json(page, "fig-around")["layout"]["annotations"]][-1] == "this"


def test_a_correction_leads_to_what_is_right(signed_in: Client, home: Namespace, coffee: Memory) -> None:
    answer = signed_in.post(at(coffee, "correct/"), {"content": "Maya drinks her coffee with oat milk"}, follow=True)
    right = Memory.objects.within(home).get(content="Maya drinks her coffee with oat milk")
    assert answer.redirect_chain == [(at(right), 302)]
    coffee.refresh_from_db()
    assert coffee.status == Status.SUPERSEDED
    assert "Superseded by" in page_text(signed_in, at(coffee))
    assert re.search(rf'Supersedes\s+<a href="{at(coffee)}">{coffee.content}</a>', answer.content.decode())


def test_a_person_who_corrects_says_it_directly(signed_in: Client, home: Namespace) -> None:
    guess = NewMemory(
        content="Jonas lives in Bergen", type="Fact", utterances=(Utterance("strong_inference"),), model="gpt-4o"
    )
    (outcome,) = remember(home, [guess], by="tests")
    signed_in.post(at(outcome.memory, "correct/"), {"content": "Jonas lives in Oslo"})
    right = Memory.objects.within(home).get(content="Jonas lives in Oslo")
    assert right.confidence > outcome.memory.confidence
    assert "direct .95" in page_text(signed_in, at(right))


def test_more_than_is_shown_is_counted_and_said(
    signed_in: Client, home: Namespace, coffee: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in range(3):
        same = {"content": coffee.content, "type": coffee.type, "subject": coffee.subject_surface}
        remember(home, [NewMemory(**same, session=f"day {day}", utterances=(Utterance("direct"),))], by="tests")
    monkeypatch.setattr(surroundings, "MAX_ROWS", 2)
    monkeypatch.setattr(evidence_history, "MAX_EVENTS", 2)
    page = page_text(signed_in, at(coffee))
    assert "Said 4 times</h2>" in page
    assert "The first 2 are shown." in page
    assert f"The last 2 of {ScoreEvent.objects.within(home).filter(memory_id=coffee.id).count()} changes" in page


def test_what_is_refused_stands_beside_its_form_and_the_input_stays(
    signed_in: Client, coffee: Memory, database: Memory
) -> None:
    same = signed_in.post(at(coffee, "correct/"), {"content": coffee.content})
    assert same.status_code == 409
    assert "there is nothing to correct" in same.content.decode()
    wrong = signed_in.post(at(coffee, "contradict/"), {"memory": "the other", "reason": "because"})
    assert wrong.status_code == 400
    page = wrong.content.decode()
    assert "memory must be a UUID; got &quot;the other&quot;" in page
    assert 'value="the other"' in page
    assert 'value="because"' in page
    itself = signed_in.post(at(coffee, "contradict/"), {"memory": str(coffee.id)})
    assert "must differ from the memory in the URL" in itself.content.decode()
    assert signed_in.post(at(coffee, "split/")).status_code == 409
    assert "must not be empty" in signed_in.post(at(coffee, "correct/"), {"content": " "}).content.decode()


def test_a_contradiction_costs_both_their_belief(signed_in: Client, coffee: Memory, database: Memory) -> None:
    answer = signed_in.post(at(coffee, "contradict/"), {"memory": str(database.id), "reason": ""}, follow=True)
    assert "its belief fell to 3.5, that of the other to 3.5" in answer.content.decode()
    again = signed_in.post(at(coffee, "contradict/"), {"memory": str(database.id)}, follow=True)
    assert "belief is lost once for a pair" in again.content.decode()


def test_what_was_merged_is_split_off_again(signed_in: Client, home: Namespace, database: Memory) -> None:
    said = NewMemory(
        content="Maya really prefers PostgreSQL for every new service",
        type="Preference",
        utterances=(Utterance("direct"),),
    )
    (outcome,) = remember(home, [said], by="tests")
    assert outcome.outcome == "merged"
    gone = Memory.objects.within(home).get(status=Status.MERGED)
    assert "Absorbed 1" in page_text(signed_in, at(database))
    page = page_text(signed_in, at(gone))
    assert "Merged into" in page
    assert "It has no vector of its own" in page
    signed_in.post(at(gone, "split/"))
    gone.refresh_from_db()
    assert gone.status == Status.ACTIVE


def test_forgetting_asks_first_and_hides_it_from_all_but_admins(
    signed_in: Client, home: Namespace, coffee: Memory
) -> None:
    assert "Forget 1 memory?" in page_text(signed_in, at(coffee, "forget/"))
    signed_in.post(at(coffee, "forget/"))
    coffee.refresh_from_db()
    assert coffee.status == Status.ACTIVE
    signed_in.post(at(coffee, "forget/"), {"sure": "1"})
    coffee.refresh_from_db()
    assert coffee.status == Status.FORGOTTEN
    assert "Forgotten by maya." in page_text(signed_in, at(coffee))
    Membership.objects.update(role="write")
    assert signed_in.get(at(coffee)).status_code == 404


def test_whoever_may_only_read_finds_no_buttons_and_is_refused(client: Client, coffee: Memory) -> None:
    reader = User.objects.create_user("reader")
    Membership.objects.create(user=reader, namespace=coffee.namespace, role="read")
    client.force_login(reader)
    page = page_text(client, at(coffee))
    assert "Confirm</button>" not in page
    assert "/forget/" not in page
    assert client.post(at(coffee, "confirm/")).status_code == 403
    assert client.get(at(coffee, "forget/")).status_code == 403


def test_a_memory_of_another_namespace_is_not_there(signed_in: Client, client: Client, coffee: Memory) -> None:
    other = Namespace.objects.create(slug="office", title="Work", clock=NOW)
    store_memories(other, MEMORIES)
    foreign = Memory.objects.within(other).get(content=MEMORIES[0][0])
    assert signed_in.get(f"/home/memories/{foreign.id}/").status_code == 404
    assert signed_in.post(f"/home/memories/{foreign.id}/confirm/").status_code == 404
    assert signed_in.get(f"/office/memories/{foreign.id}/").status_code == 404
    assert signed_in.post(at(coffee, "praise/")).status_code == 404
    wrong = signed_in.post(at(coffee, "contradict/"), {"memory": str(foreign.id)})
    assert f"must be a memory of this namespace; got {foreign.id}" in wrong.content.decode()


def test_the_page_runs_a_bounded_number_of_sql_queries(
    signed_in: Client, coffee: Memory, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    signed_in.get(at(coffee))
    with django_assert_max_num_queries(34):
        signed_in.get(at(coffee))


def test_an_explanation_reads_as_the_sums_it_is_made_of() -> None:
    leaves = [{"name": name, "value": value, "op": "input", "parts": []} for name, value in (("a", 2.0), ("b", 3.0))]
    tree = {"name": "area", "value": 6.0, "op": "×", "parts": leaves}
    told = explanation_node({"name": "−", "value": -6.0, "op": "−", "parts": [tree]})
    assert (told.name, told.equation, told.parts[0].equation) == ("difference", "−area", "2 × 3")


def test_a_person_moves_the_half_life_asks_and_confirms(
    page: Page, home: Namespace, database: Memory, complaints: list[str]
) -> None:
    page.goto("/home/memories/")
    page.get_by_label("Name").fill("maya")
    page.get_by_label("Password").fill("tall-ships-7")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=database.content).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(database.content)
    expect(page.locator("#decay")).to_contain_text("Halves every 90 days")
    expect(page.locator("[data-figure=fig-decay] .main-svg").first).to_be_visible(timeout=30_000)
    slider = page.locator("#p-half_life_preference")
    slider.focus()
    page.keyboard.press("PageUp")
    expect(page.locator("#decay")).not_to_contain_text("Halves every 90 days")
    expect(page.locator("#decay")).to_contain_text("Tried:")
    expect(page).to_have_url(re.compile("p.half_life_preference="))
    page.get_by_label("Query").fill("which database for a new service?")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#scores .rank").first).to_be_visible()
    expect(page).to_have_url(re.compile("q=which"))
    expect(page).to_have_url(re.compile("p.half_life_preference="))
    rows = page.get_by_role("table", name="Evidence").locator("tbody tr")
    before = rows.count()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("status")).to_contain_text("Confirmed: its confidence went from")
    expect(rows).to_have_count(before + 1)
    page.get_by_text("Contradict…").click()
    page.get_by_label("Contradicting memory").fill("nobody")
    page.get_by_role("button", name="Record the contradiction").click()
    expect(page.get_by_role("alert")).to_contain_text("must be a UUID")
    assert "status of 400" in complaints.pop()  # the refused form
    for width in (380, 768, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(1_000)  # the charts are drawn again a moment later
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


@pytest.mark.django_db(transaction=True)
def test_a_person_corrects_splits_off_and_forgets(page: Page, home: Namespace, coffee: Memory) -> None:
    page.goto(at(coffee))
    page.get_by_label("Name").fill("maya")
    page.get_by_label("Password").fill("tall-ships-7")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("Correct…").click()
    page.get_by_label("Correct content").fill("Maya drinks her coffee with oat milk")
    page.get_by_role("button", name="Correct it").click()
    expect(page.get_by_role("status")).to_contain_text("Corrected: this memory is")
    expect(page.get_by_role("heading", level=1)).to_have_text("Maya drinks her coffee with oat milk")
    page.get_by_role("link", name=coffee.content).first.click()
    expect(page.get_by_text("Superseded by")).to_be_visible()
    said = NewMemory(
        content="Maya really prefers PostgreSQL for every new service",
        type="Preference",
        utterances=(Utterance("direct"),),
    )
    remember(home, [said], by="tests")
    gone = Memory.objects.within(home).get(status=Status.MERGED)
    page.goto(at(gone))
    page.get_by_role("button", name="Split off").click()
    expect(page.get_by_role("status")).to_contain_text("Split off: it is active again")
    page.get_by_role("link", name="Forget…").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("status")).to_contain_text("Forgotten: it is no longer returned")
    expect(page.get_by_text("Forgotten by maya.")).to_be_visible()
