"""The Thresholds page: every threshold in one place, and what moving it changes is what applying it does."""

import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import (
    Job,
    JudgedQuery,
    JudgementSet,
    Membership,
    Memory,
    Namespace,
    NamespaceStatistics,
    ProfileVersion,
    WritePolicyVersion,
)
from memories.models.choices import JobKind, JobState, Role, Status
from memories.models.vector import index_name
from memories.pages.dedup.pair_survey import find_survey
from memories.pages.thresholds import query_populations, views
from memories.retrieval.answer import build_answer
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Config
from memories.retrieval.retrieve import retrieve
from memories.retrieval.trace import store_trace
from memories.tuning.policy_drafts import save_policy_draft
from memories.tuning.traced_sets import evaluation_query
from memories.writing.feedback import add_contradiction, confirm_memory
from memories.writing.lock import lock_memories
from memories.writing.recompute import preview_policy
from memories.writing.remember import remember
from memories.writing.write_policy import current_write_policy
from scoring.catalogue.thresholds import PRINTED_TABLE, THRESHOLD_TABLES
from scoring.policy import WritePolicyParams
from scoring.systems import SYSTEMS
from tests.support.access import member_of
from tests.support.judged_world import make_judgement_set, trace_set
from tests.support.markup import collapse_whitespace
from tests.support.profiles import add_version, force_publish
from tests.support.reflection import publish_policy, reflect
from tests.support.retrieval_world import NOW, make_query, store_world
from tests.support.sign_in import sign_in

pytestmark = pytest.mark.django_db

ROW = re.compile(r'<tr id="row-([\w-]+)">(.*?)</tr>', re.DOTALL)
EFFECT = re.compile(r'<div class="effect" id="effect-([\w-]+)" hx-swap-oob="true">(.*?)</div>', re.DOTALL)
CHANGED = re.compile(r"^(None|[\d,]+) of ")
COFFEE = (
    "Maya drinks her coffee black in the morning",
    "Maya takes a black coffee before the stand-up",
    "Every day Maya has black coffee for breakfast",
)


@pytest.fixture
def admin(world: Namespace) -> Client:
    """An admin of the retrieval world."""
    return member_of(world)


@pytest.fixture
def recall_set(world: Namespace, judgement_set: JudgementSet) -> JudgementSet:
    """The world's judged queries, traced for recall."""
    trace_set(world, judgement_set, resolve_config(world, system="recall", params={}))
    return judgement_set


def plain(html: str) -> str:
    """What a piece of a page says."""
    text = unescape(re.sub(r"<[^>]+>", " ", html))
    return re.sub(r" ([,:]|\.(?!\d))", r"\1", " ".join(text.split()))


def shorten(printed: str) -> str:
    """A printed number as pages write it."""
    return printed.removeprefix("0") if float(printed) else "0"


def get_page(client: Client, namespace: Namespace, **query: Any) -> str:
    """The page."""
    response = client.get(f"/{namespace.slug}/thresholds/", query)
    assert response.status_code == 200
    return collapse_whitespace(response.content.decode())


def effects_html(client: Client, namespace: Namespace, system: str = "recall", **moved: Any) -> str:
    """The effects of a section, the rest asked for as the page does."""
    path, html = f"/{namespace.slug}/thresholds/effects/{system}/", ""
    after: dict[str, str] = {}
    for _ in range(20):
        response = client.get(path, {**moved, **after})
        assert response.status_code == 200
        html += response.content.decode()
        rest = re.search(rf'hx-get="{path}\?after=(\d+)"', response.content.decode())
        if rest is None:
            return html
        after = {"after": rest[1]}
    raise AssertionError("never done")


def count_effects(client: Client, namespace: Namespace, system: str = "recall", **moved: Any) -> dict[str, str]:
    """What each row of a section says of its effect, by field."""
    html = effects_html(client, namespace, system, **moved)
    return {field.replace("-", ".", 1): plain(text) for field, text in EFFECT.findall(html)}


def change_count(text: str) -> int:
    """How many an effect says change, in its first population."""
    found = CHANGED.match(text)
    assert found, text
    return 0 if found[1] == "None" else int(found[1].replace(",", ""))


def judged_queries(namespace: Namespace, judgement_set: JudgementSet) -> list[JudgedQuery]:
    return list(JudgedQuery.objects.within(namespace).filter(judgement_set_id=judgement_set.id))


def live_difference(
    namespace: Namespace, judgement_set: JudgementSet, params: dict[str, Any], view: Callable[[Any], object]
) -> int:
    """How many judged queries are answered otherwise with a parameter, each retrieved live."""
    configs = [resolve_config(namespace, system="recall", params=given) for given in ({}, params)]

    def answer(query: JudgedQuery, config: Config) -> object:
        return view(retrieve(evaluation_query(namespace, query, config)))

    queries = judged_queries(namespace, judgement_set)
    return sum(answer(query, configs[0]) != answer(query, configs[1]) for query in queries)


def top_ten(retrieval: Any) -> list[UUID]:
    return [result.id for result in build_answer(retrieval).results]


# The table


def test_the_first_fifteen_rows_are_the_papers_in_its_order(admin: Client, world: Namespace) -> None:
    rows = ROW.findall(get_page(admin, world))
    for (field, html), threshold in zip(rows, PRINTED_TABLE.thresholds, strict=False):
        text, declaration = plain(html), threshold.declaration
        assert field.endswith(f"-{threshold.param}")
        assert text.startswith(threshold.name)
        assert threshold.used_in in text
        assert f'min="{declaration.low!r}" max="{declaration.high!r}"' in html
        assert f'data-default="{declaration.default!r}"' in html
        low, high = threshold.printed_range or ("", "")
        printed = f"{shorten(low)} to {shorten(high)} " if low else "—"
        assert f"{shorten(threshold.printed_default)} {printed}" in text
    assert len(rows) == sum(len(table.thresholds) for table in THRESHOLD_TABLES)


def test_each_row_leads_to_its_formula_and_to_a_page_that_exists(
    admin: Client, world: Namespace, recall_set: object
) -> None:
    page = get_page(admin, world, count="recall", **{"policy.dedup_duplicate": "0.9", "recall.rrf_k": "30"})
    rows = "".join(html for _, html in ROW.findall(page))
    links = set(map(unescape, re.findall(r'<a (?:class="mono" )?href="(/[^"]+)"', rows)))
    moved = {"/asked/dedup/?p.dedup_duplicate=0.9", "/asked/tune/?by=recall&p.rrf_k=30"}
    assert {"/formulas/recall/#reciprocal-rank-fusion", *moved} <= links
    for link in links:
        path, _, anchor = link.partition("#")
        response = admin.get(path)
        assert response.status_code == 200, link
        assert not anchor or f'id="{anchor}"' in response.content.decode(), link


def test_the_page_itself_counts_nothing(
    admin: Client, world: Namespace, recall_set: object, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(20) as captured:
        page = get_page(admin, world, **{"recall.rrf_k": "30"})
    read = " ".join(query["sql"] for query in captured.captured_queries)
    for table in ("memories_memory", "memories_judgedquery", "memories_tracedquery", "memories_mention"):
        assert f'"{table}"' not in read
    assert 'hx-get="/asked/thresholds/effects/recall/"' in page


def test_without_javascript_a_section_is_counted_with_the_page(
    admin: Client, world: Namespace, recall_set: object
) -> None:
    page = get_page(admin, world, count="recall", **{"recall.min_confidence": "0.8"})
    said = {field.replace("-", ".", 1): plain(html) for field, html in ROW.findall(page)}
    counted = count_effects(admin, world, **{"recall.min_confidence": "0.8"})
    assert counted["recall.min_confidence"] in said["recall.min_confidence"]
    assert "neighbours" in said["policy.dedup_duplicate"]
    assert "judged quer" not in said["memsense.mmr_lambda"]


def test_a_slow_count_is_asked_for_again_and_goes_on(
    admin: Client, world: Namespace, recall_set: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "COUNTING_BUDGET_S", 0.0)
    html = admin.get("/asked/thresholds/effects/recall/").content.decode()
    assert "1 of 15 counted …" in html
    assert 'hx-get="/asked/thresholds/effects/recall/?after=1"' in html
    assert [field for field, _ in EFFECT.findall(html)] == ["recall-rrf_k"]
    html = admin.get("/asked/thresholds/effects/recall/?after=14").content.decode()
    assert [field for field, _ in EFFECT.findall(html)] == ["recall-min_confidence"]
    assert "counted …" not in html


# What moving a threshold changes is what applying it changes


def test_min_confidence_changes_the_memories_and_queries_that_applying_it_changes(
    admin: Client, world: Namespace, recall_set: JudgementSet
) -> None:
    text = count_effects(admin, world, **{"recall.min_confidence": "0.7"})["recall.min_confidence"]
    facts = Memory.objects.within(world).filter(status=Status.ACTIVE, level="fact")
    between = facts.filter(confidence__gte=0.5, confidence__lt=0.7).count()
    assert 0 < between == change_count(text)
    assert f"of {facts.count()} memories" in text
    assert f"{facts.filter(confidence__lt=0.5).count()} → {facts.filter(confidence__lt=0.7).count()} filtered" in text
    queries = live_difference(world, recall_set, {"min_confidence": 0.7}, top_ten)
    assert queries > 0
    assert re.search(rf"\b{queries} of 9 judged queries change", text)
    nothing = count_effects(admin, world)["recall.min_confidence"]
    assert f"{len(facts)} memories:" in nothing
    assert "9 judged queries" in nothing


@pytest.mark.parametrize(("name", "value"), [("rrf_k", 10.0), ("freshness_floor", 0.3), ("min_confidence", 0.8)])
def test_a_moved_parameter_changes_the_queries_whose_live_answer_it_changes(
    admin: Client, world: Namespace, recall_set: JudgementSet, name: str, value: float
) -> None:
    text = count_effects(admin, world, **{f"recall.{name}": value})[f"recall.{name}"]
    ordered = live_difference(world, recall_set, {name: value}, top_ten)
    other = live_difference(world, recall_set, {name: value}, lambda retrieval: set(top_ten(retrieval)))
    said = re.search(r"(None|\d+) of 9 judged queries change(?:s?, (\d+) get other memories)?", text)
    assert said, text
    assert (said[1], int(said[2] or 0)) == (str(ordered or "None"), other)


def test_mmr_counts_the_queries_that_are_diversified(admin: Client, world: Namespace, recall_set: JudgementSet) -> None:
    plans = [
        retrieve(evaluation_query(world, query, resolve_config(world, system="recall", params={})))
        for query in judged_queries(world, recall_set)
    ]
    diversified = sum(retrieval.query_plan.plan.diversify for retrieval in plans)
    text = count_effects(admin, world, **{"recall.mmr_lambda": 0.5})["recall.mmr_lambda"]
    assert f"of {diversified} judged quer" in text
    changes = live_difference(world, recall_set, {"mmr_lambda": 0.5}, top_ten)
    assert change_count(text) == changes


@pytest.mark.parametrize(
    ("name", "value"),
    [("exploratory_below", 0.3), ("exploratory_below", 0.5), ("precise_from", 0.7), ("entity_above", 0.7)],
)
def test_a_plan_threshold_changes_the_plans_that_a_retrieval_then_follows(
    admin: Client, world: Namespace, recall_set: JudgementSet, name: str, value: float
) -> None:
    text = count_effects(admin, world, **{f"recall.{name}": value})[f"recall.{name}"]
    assert change_count(text) == live_difference(world, recall_set, {name: value}, lambda one: one.query_plan.plan.name)


def test_a_threshold_that_cannot_move_anything_says_why(admin: Client, world: Namespace, recall_set: object) -> None:
    assert "No effect" not in count_effects(admin, world)["recall.mmr_lambda"]
    force_publish(world, add_version(world, {"mmr": "off", "confidence_gate": False}, system="recall"))
    counted = count_effects(admin, world)
    for field in ("recall.mmr_lambda", "recall.min_confidence"):
        assert counted[field].startswith("No effect: "), counted[field]
    assert '<div class="param inert">' in dict(ROW.findall(get_page(admin, world)))["recall-mmr_lambda"]


def test_without_a_traced_set_a_sample_of_the_judged_queries_is_retrieved(
    admin: Client, world: Namespace, judgement_set: JudgementSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_populations, "RETRIEVED_QUERIES", 4)
    text = count_effects(admin, world, "memsense", **{"memsense.mmr_lambda": 0.1})["memsense.mmr_lambda"]
    assert "of a sample of 4 of 9 judged queries change" in text
    assert not judgement_set.traced.filter(system="memsense").exists()


def test_without_judged_queries_the_recent_ones_are_counted(db: None) -> None:
    namespace = store_world("recent")
    for text in ("Which database does invoicing use?", "Who left Arrive?"):
        retrieval = retrieve(make_query(namespace, text))
        store_trace(retrieval, build_answer(retrieval), key=None)
    text = count_effects(member_of(namespace), namespace, **{"recall.min_confidence": "0.8"})["recall.min_confidence"]
    assert "of 2 recent queries change" in text


def test_dedup_thresholds_change_what_the_write_path_then_does(db: None) -> None:
    texts = "The choir meets at 7:30 pm", "The choir meets at 19:30"  # at .882
    outcomes = {}
    for slug, params in (("before", {}), ("after", {"dedup_duplicate": 0.88})):
        namespace = Namespace.objects.create(slug=slug, title=slug)
        publish_policy(namespace, **params)
        outcomes[slug] = [
            remember(namespace, [NewMemory(content=text, session=text)], by="test")[0].outcome for text in texts
        ][1]
    assert outcomes == {"before": "escalated", "after": "merged"}
    namespace = Namespace.objects.get(slug="before")
    text = count_effects(member_of(namespace), namespace, **{"policy.dedup_duplicate": 0.88})["policy.dedup_duplicate"]
    assert text.startswith("1 of 1 pair of nearest neighbours changes: 0 → 1 would be merged, 1 → 0 would be judged")


def test_pairs_that_change_band_are_those_of_the_survey(admin: Client, world: Namespace) -> None:
    survey = find_survey(world, wait=True)
    assert survey is not None
    moved = sum(0.75 <= pair.cosine < 0.85 for pair in survey.pairs)
    text = count_effects(admin, world, **{"policy.dedup_escalate": 0.75})["policy.dedup_escalate"]
    assert change_count(text) == moved
    assert f"of {len(survey.pairs)} pairs" in text


def test_consolidation_forms_as_many_summaries_as_a_reflection_then_does(db: None) -> None:
    namespace = Namespace.objects.create(slug="desk", title="Desk", clock=NOW)
    for place, content in enumerate(COFFEE):
        remember(namespace, [NewMemory(content=content, subject="Maya", session=f"s{place}")], by="test")
    client = member_of(namespace)
    high = count_effects(client, namespace, **{"policy.consolidation": 0.85})["policy.consolidation"]
    assert high.startswith("1 of 1 subject changes: 1 → 0 summaries")
    publish_policy(namespace, consolidation=0.85)
    assert reflect(namespace, "consolidation")["summaries"] == 0
    publish_policy(namespace, consolidation=0.75)
    assert reflect(namespace, "consolidation")["summaries"] == 1


def test_drift_flags_the_entities_that_a_reflection_then_flags(admin: Client, world: Namespace) -> None:
    with_few = {"drift_members": 1, "drift_window": 45}
    publish_policy(world, **with_few)
    moved = {"policy.drift_distance": 0.2, "policy.drift_overlap": 0.7}
    before = count_effects(admin, world)["policy.drift_distance"]
    text = count_effects(admin, world, **moved)["policy.drift_distance"]
    flagged = re.search(r"(\d+)(?: → (\d+))? flagged", text)
    assert flagged, text
    publish_policy(world, **with_few, drift_distance=0.2)
    assert reflect(world, "drift")["drifted"] == int(flagged[2] or flagged[1])
    assert change_count(text) == abs(int(flagged[2] or flagged[1]) - int(flagged[1]))
    assert re.search(r"\d+ entities with facts old and new", before)


def test_the_grounding_floor_rejects_what_storing_then_rejects(db: None) -> None:
    namespace = Namespace.objects.create(slug="doubt", title="Doubt")
    new = NewMemory(
        content="Priya quietly runs the staging cluster alone",
        evidence="Priya looked at the staging plan",
        utterances=(Utterance("strong_inference"),),
    )
    (outcome,) = remember(namespace, [new], by="test")
    assert (outcome.outcome, outcome.memory.grounding) == ("stored", "partial")
    client = member_of(namespace)
    text = count_effects(client, namespace, **{"policy.grounding_floor": 0.5})["policy.grounding_floor"]
    assert text.startswith("1 of 1 memory with partial grounding changes: 0 → 1 rejected")
    publish_policy(namespace, grounding_floor=0.5)
    other = replace(new, content="Priya quietly runs the staging servers alone")
    (again,) = remember(namespace, [other], by="test", dry_run=True)
    assert (again.outcome, again.memory.grounding) == ("rejected", "partial")


def test_the_confidence_cap_changes_the_confirmed_memories_it_caps(db: None) -> None:
    namespace = Namespace.objects.create(slug="sure", title="Sure")
    (outcome,) = remember(
        namespace,
        [NewMemory(content="Maya sails", type="Entity", utterances=(Utterance("direct"),), logprobs=(0.0,))],
        by="test",
    )
    remember(namespace, [NewMemory(content="Maya knits", type="Fact")], by="test")
    for _ in range(60):
        confirm_memory(namespace, outcome.memory.id, by="test")
    confirmed = Memory.objects.get(id=outcome.memory.id, namespace=namespace)
    assert 0.9 < confirmed.confidence < 0.95
    text = count_effects(member_of(namespace), namespace, **{"policy.confirmed_cap": 0.9})["policy.confirmed_cap"]
    assert text.startswith("1 of 1 memory confirmed by a user changes: 0 → 1 at the cap")


def test_the_index_alert_follows_the_last_measurement(db: None) -> None:
    namespace = Namespace.objects.create(slug="indexed", title="Indexed")
    client = member_of(namespace)
    nothing = count_effects(client, namespace)["policy.index_recall"]
    assert "Every vector is compared: the index begins at 20,000 memories." in nothing
    name = index_name(namespace.id, namespace.embedder)
    NamespaceStatistics.objects.create(namespace=namespace, documents=30_000, vector_index=name)
    assert "was not measured yet. Measure it on Health" in count_effects(client, namespace)["policy.index_recall"]
    Job.objects.create(
        namespace=namespace,
        kind=JobKind.MEASURE,
        by="test",
        state=JobState.DONE,
        finished_at=NOW,
        result={"measure": {"recalls": [0.9, 0.96], "asked_before": 1}},
    )
    text = count_effects(client, namespace, **{"policy.index_recall": 0.92})["policy.index_recall"]
    assert text.startswith("1 of 1 measurement of 2 Mar: recall@10 0.930 over 2 queries changes: 1 → 0 alerts")


def test_belief_thresholds_change_the_beliefs_that_recomputing_then_changes(db: None) -> None:
    namespace = Namespace.objects.create(slug="believed", title="Believed")
    client = member_of(namespace)
    assert "corroborated or contradicted" in count_effects(client, namespace, "adaptive")["policy.belief_boost"]
    ids = [
        remember(namespace, [NewMemory(content=content, session=f"s{place}")], by="test")[0].memory.id
        for place, content in enumerate(("Maya sails", "Maya sails on Sundays", "Maya knits"))
    ]
    with lock_memories(namespace, *ids, by="test") as locked:
        add_contradiction(locked, *(locked.get(id) for id in ids[:2]), cosine=0.8)
    text = count_effects(client, namespace, "adaptive", **{"policy.belief_penalty": 3.5})["policy.belief_penalty"]
    assert text.startswith("2 of 2 memories with evidence for or against them change: 0 protected, 0 → 2 to archive")
    version = save_policy_draft(namespace, {"belief_penalty": 3.5}, note="", by="test")
    assert preview_policy(namespace, WritePolicyParams.of(version.params))["belief"]["changed"] == 2


def test_several_moved_thresholds_are_also_counted_together(
    admin: Client, world: Namespace, recall_set: JudgementSet
) -> None:
    params = {"rrf_k": 10.0, "freshness_floor": 0.3}
    html = effects_html(admin, world, **{f"recall.{name}": value for name, value in params.items()})
    together = re.search(r"Moved together, the thresholds of retrieval change (\d+) of 9 judged queries", plain(html))
    assert together
    assert int(together[1]) == live_difference(world, recall_set, params, top_ten)


def test_other_systems_count_in_the_same_form(admin: Client, world: Namespace, judgement_set: JudgementSet) -> None:
    for table in THRESHOLD_TABLES[1:]:
        counted = count_effects(admin, world, table.system)
        assert len(counted) == len(table.thresholds)
        assert all(counted.values())
    moved = count_effects(admin, world, "blend", **{"blend.abstain_below": 0.0})["blend.abstain_below"]
    before = resolve_config(world, system="blend", params={})
    after = resolve_config(world, system="blend", params={"abstain_below": 0.0})
    queries = judged_queries(world, judgement_set)
    abstains = [
        sum(not top_ten(retrieve(evaluation_query(world, query, config))) for query in queries)
        for config in (before, after)
    ]
    assert f"{abstains[0]} → {abstains[1]} without an answer" in moved


# Saving


def test_moved_thresholds_of_retrieval_become_a_profile_version(admin: Client, world: Namespace) -> None:
    here = "recall.rrf_k=30&recall.min_confidence=0.6&policy.consolidation=0.7"
    response = admin.post("/asked/thresholds/save/", {"here": here, "system": "recall", "name": "sharp"}, follow=True)
    version = ProfileVersion.objects.within(world).get()
    assert (version.system, version.params) == ("recall", {"rrf_k": 30.0, "min_confidence": 0.6})
    assert version.note == "Thresholds: RRF k 60 → 30, Min confidence (retrieval filter) .5 → .6."
    page = plain(response.content.decode())
    assert "Saved as sharp@1" in page
    assert "Consolidation similarity .75 → .7" in page  # what else was moved stays


def test_moved_thresholds_of_the_write_path_become_a_draft_that_an_admin_publishes(
    admin: Client, world: Namespace
) -> None:
    here = "policy.grounding_floor=0.4&policy.belief_boost=0.6&recall.rrf_k=30"
    response = admin.post("/asked/thresholds/drafts/", {"here": here}, follow=True)
    version = WritePolicyVersion.objects.within(world).get()
    assert (version.params["grounding_floor"], version.params["belief_boost"]) == (0.4, 0.6)
    assert current_write_policy(world).grounding_floor == 0.3
    page = plain(response.content.decode())
    assert "Version 1 of default is a draft" in page
    assert "RRF k 60 → 30" in page
    response = admin.post(f"/asked/thresholds/drafts/{version.id}/publish/", {"recompute": "on"}, follow=True)
    assert current_write_policy(world).grounding_floor == 0.4
    assert "Version 1 of default is now in force. Stored memories are recomputed" in plain(response.content.decode())
    assert ".4 in force" in plain(dict(ROW.findall(get_page(admin, world)))["policy-grounding_floor"])


@pytest.mark.parametrize(
    ("path", "data", "refusal"),
    [
        ("save/", {"here": "", "system": "recall", "name": "x"}, "no threshold of this system was moved"),
        ("save/", {"here": "recall.rrf_k=30", "system": "nothing", "name": "x"}, "no threshold of this system"),
        ("save/", {"here": "recall.rrf_k=30", "system": "recall", "name": "a@b"}, "the name must have 1 to"),
        ("drafts/", {"here": "recall.rrf_k=30"}, "no threshold of the write policy was moved"),
    ],
)
def test_a_save_that_cannot_be_says_why(
    admin: Client, world: Namespace, path: str, data: dict[str, str], refusal: str
) -> None:
    page = admin.post(f"/asked/thresholds/{path}", data, follow=True).content.decode()
    assert f"Nothing was saved: {refusal}" in plain(page)
    assert not ProfileVersion.objects.within(world).exists()
    assert not WritePolicyVersion.objects.within(world).exists()


def test_a_reader_moves_and_may_not_save(world: Namespace) -> None:
    reader = member_of(world, Role.READ)
    page = plain(get_page(reader, world, **{"recall.rrf_k": "30", "policy.consolidation": "0.7"}))
    assert "Saving a profile needs the role write." in page
    assert "An admin can save it as a draft of the write policy." in page
    data = {"here": "recall.rrf_k=30&policy.consolidation=0.7", "system": "recall", "name": "x"}
    assert reader.post("/asked/thresholds/save/", data).status_code == 403
    assert member_of(world, Role.WRITE).post("/asked/thresholds/drafts/", data).status_code == 403


# Bad input, and nothing to count


def test_values_that_may_not_be_are_told_kept_as_typed_and_block_no_other(admin: Client, world: Namespace) -> None:
    page = get_page(
        admin,
        world,
        **{"recall.rrf_k": "5", "policy.dedup_duplicate": "x", "recall.bm25_k1": "1.4", "recall.mmr_lambda": "0.6"},
    )
    said = plain(page)
    assert "recall.rrf_k must be a number from 10 to 200; got 5" in said
    assert "policy.dedup_duplicate must be a number from 0.85 to 0.98 cosine; got 'x'" in said
    assert "recall.bm25_k1 is not on this page; it has rrf_k," in said
    assert 'name="recall.rrf_k" step="any" value="5"' in page
    assert "MMR λ .7 → .6" in said
    assert "RRF k 60 →" not in said


def test_a_rule_between_two_thresholds_is_told(admin: Client, world: Namespace) -> None:
    said = plain(get_page(admin, world, **{"policy.dedup_duplicate": "0.85", "policy.dedup_escalate": "0.9"}))
    assert "policy.dedup_escalate must not exceed dedup_duplicate" in said


def test_a_move_that_needs_another_is_counted_with_it(db: None) -> None:
    namespace = store_world("ruled")
    publish_policy(namespace, dedup_escalate=0.9)
    moved = {"policy.dedup_duplicate": "0.86", "policy.dedup_escalate": "0.8"}
    counted = count_effects(member_of(namespace), namespace, **moved)
    assert " of " in counted["policy.dedup_duplicate"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_empty_namespace_says_what_would_make_each_row_countable(db: None, system: str) -> None:
    namespace = Namespace.objects.create(slug="empty", title="Empty")
    counted = count_effects(member_of(namespace), namespace, system)
    for field, text in counted.items():
        assert re.match(r"(No |There are no two memories|Every vector is compared)", text), (field, text)
        assert text.count(".") >= 2


def test_an_unknown_section_is_not_found(admin: Client, world: Namespace) -> None:
    assert admin.get("/asked/thresholds/effects/nothing/").status_code == 404
    assert Client().get("/asked/thresholds/effects/recall/").status_code == 302
    outsider = member_of(Namespace.objects.create(slug="other", title="Other"))
    assert outsider.get("/asked/thresholds/").status_code == 404


# In a browser


def test_a_person_moves_a_threshold_sees_what_changes_and_saves_it(transactional_db: None, page: Page) -> None:
    namespace = store_world("board")
    trace_set(namespace, make_judgement_set(namespace), resolve_config(namespace, system="recall", params={}))
    user = User.objects.create_user("maya", password="tall-ships-7")
    Membership.objects.create(namespace=namespace, user=user, role="admin")
    sign_in(page)
    page.goto("/board/thresholds/")
    expect(page.locator("#effect-recall-rrf_k")).to_contain_text("9 judged queries", timeout=30_000)
    expect(page.locator("#counted-recall")).to_contain_text("Each row counts", timeout=30_000)
    slider = page.get_by_label("Min confidence (retrieval filter)", exact=True)
    slider.focus()
    page.keyboard.press("End")
    expect(page.locator("#moved")).to_contain_text("Min confidence (retrieval filter) .5 → .8")
    expect(page.locator("#effect-recall-min_confidence")).to_contain_text("filtered")
    expect(page.locator("#effect-recall-min_confidence b.marked").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"recall\.min_confidence=0\.8$"))
    page.locator("[name='policy.grounding_floor']").fill("0.4")
    expect(page).to_have_url(re.compile(r"policy\.grounding_floor=0\.4&recall\.min_confidence=0\.8$"))
    page.locator("[name='policy.drift_overlap']").fill("7")
    expect(page.locator("#moved .problem")).to_contain_text("policy.drift_overlap must be a number from 0.3 to 0.7")
    expect(page.locator("[name='policy.drift_overlap']")).to_have_value("7")
    page.locator("#row-policy-drift_overlap .reset").click()
    expect(page.locator("#moved .problem")).to_have_count(0)
    page.get_by_role("button", name="Save as policy draft").click()
    expect(page.locator("#draft-h")).to_have_text("Version 1 of default is a draft")
    expect(page.locator("#moved")).to_contain_text("Min confidence (retrieval filter) .5 → .8")
    page.locator("#name-recall").fill("strict")
    page.get_by_role("button", name="Save as profile").click()
    expect(page.get_by_role("status")).to_contain_text("Saved as strict@1")
    page.get_by_role("button", name="Publish version 1").click()
    expect(page.get_by_role("status")).to_contain_text("Version 1 of default is now in force")
    expect(page.locator("#row-policy-grounding_floor")).to_contain_text(".4 in force")
    page.locator("#section-blend").scroll_into_view_if_needed()
    expect(page.locator("#effect-blend-abstain_below")).to_contain_text("judged queries", timeout=30_000)
    page.wait_for_timeout(500)
    expect(page.locator(".htmx-request")).to_have_count(0, timeout=30_000)
