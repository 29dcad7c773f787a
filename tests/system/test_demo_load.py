"""The demo world in the database: varied, and every number by the formulas."""

import gzip
import io
import math
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import Count, Q, Sum

from memories.db.ids import id_timestamp
from memories.demo import loader, world_export
from memories.demo.sample_traces import store_sample_traces
from memories.demo.world_records import DemoMemory, read_demo_world
from memories.maintenance import retriever_health
from memories.maintenance.erase import Erasure
from memories.management.commands import build_demo
from memories.models import (
    ApiKey,
    DailyAccess,
    Entity,
    EntityEdge,
    Job,
    JudgedQuery,
    Judgement,
    Memory,
    MemoryEdge,
    MemorySource,
    MemoryTag,
    MemoryVector,
    Namespace,
    Posting,
    ReviewItem,
    ScoreEvent,
    Session,
    TermStatistic,
    TokenStates,
    Trace,
    Turn,
)
from memories.models.choices import (
    ChunkLevel,
    EdgeKind,
    Kind,
    MemoryType,
    QueryKind,
    Role,
    Route,
    SourceLevel,
    Status,
    Verdict,
)
from memories.models.keys import NamespacedQuerySet
from memories.retrieval.replay import replay
from memories.retrieval.trace import config_from_trace
from memories.tuning.calibration.results import calibrate
from scoring.contradiction import FactStatement, conflicts
from scoring.evidence import Evidence, Grounding
from scoring.graph import traverse
from scoring.policy import WritePolicyParams
from scoring.signals import TYPES, Signals
from scoring.systems import SYSTEMS
from scoring.systems.recall import RecallParams, memory_confidence, score
from tests.support.explanations import evaluate
from tests.support.retrieval_world import answer_to_dict
from tests.support.rows import NAMESPACED
from tests.support.search_index import search_index_rows
from tests.support.transfer import lines_of, run_command, write_lines

EXAMPLE = "Uses PostgreSQL for new projects; team standard since joining Arrive in 2024"
CATEGORIES = {"single-hop", "multi-hop", "temporal", "preference", "lexical-only", "paraphrase-only", "never-stored"}

# One worker, so that the world is restored once for all of these tests.
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("demo")]


@pytest.fixture(scope="module")
def demo(django_db_setup: None, django_db_blocker: Any) -> Iterator[Namespace]:
    """The demo world, restored once for all tests of this module."""
    with django_db_blocker.unblock():
        user = User.objects.create_user("demo")
        namespace = loader.load_demo_world("demo")
    yield namespace
    with django_db_blocker.unblock():
        namespace.delete()
        user.delete()


@pytest.fixture
def example(demo: Namespace) -> Memory:
    """The memory of Appendix C."""
    return Memory.objects.within(demo).get(content=EXAMPLE)


def count_by(rows: Any, column: str) -> Counter[Any]:
    return Counter(rows.values_list(column, flat=True))


def facts(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """What is remembered, without the chunks of conversations."""
    return Memory.objects.within(namespace).filter(level=ChunkLevel.FACT)


def test_the_world_is_as_large_as_a_newcomer_needs(demo: Namespace) -> None:
    assert 380 <= facts(demo).count() <= 450
    assert 55 <= Entity.objects.within(demo).count() <= 75
    assert Session.objects.within(demo).count() >= 80
    assert Turn.objects.within(demo).count() >= 400


def test_what_was_written_is_stored_once_and_nothing_else(demo: Namespace) -> None:
    assert Counter(facts(demo).values_list("content", flat=True)) == Counter(
        memory.content for memory in read_demo_world().memories.values()
    )
    assert count_by(Entity.objects.within(demo), "name") == Counter(
        one.name for one in read_demo_world().entities.values()
    )


def test_every_active_memory_can_be_found_by_its_words_its_vector_and_its_tokens(demo: Namespace) -> None:
    active = set(facts(demo).filter(status=Status.ACTIVE).values_list("id", flat=True))
    assert set(facts(demo).filter(vectors__active=True).values_list("id", flat=True)) == active
    assert set(facts(demo).filter(postings__isnull=False).values_list("id", flat=True)) == active
    assert active <= set(TokenStates.objects.within(demo).values_list("memory_id", flat=True))


def test_every_session_and_each_of_its_exchanges_is_a_chunk_with_vectors(demo: Namespace) -> None:
    chunks = Memory.objects.within(demo).exclude(level=ChunkLevel.FACT)
    sessions = Session.objects.within(demo)
    assert set(chunks.filter(level=ChunkLevel.SESSION).values_list("session_id", flat=True)) == set(
        sessions.values_list("id", flat=True)
    )
    opened = Turn.objects.within(demo).filter(Q(role="user") | Q(position=1))
    assert set(chunks.filter(level=ChunkLevel.TURN).values_list("turn_id", flat=True)) == set(
        opened.values_list("id", flat=True)
    )
    assert not chunks.filter(vectors__isnull=True).exists()
    assert set(count_by(MemoryVector.objects.within(demo), "route")) == set(Route.values)


def test_every_type_kind_source_level_and_several_extractors_occur(demo: Namespace) -> None:
    memories = facts(demo)
    assert set(count_by(memories, "type")) == set(MemoryType.values)
    assert min(count_by(memories, "type").values()) >= 40
    assert set(count_by(memories, "kind")) == set(Kind.values)
    assert set(count_by(MemorySource.objects.within(demo), "level")) == set(SourceLevel.values)
    assert len(count_by(memories, "extractor_model")) >= 5
    assert memories.filter(extractor_logprob__isnull=False).count() >= 20


def test_every_kind_of_edge_joins_memories(demo: Namespace) -> None:
    assert set(count_by(MemoryEdge.objects.within(demo), "kind")) == set(EdgeKind.values)


def test_entities_are_reached_over_two_and_three_hops(demo: Namespace) -> None:
    names = dict(Entity.objects.within(demo).values_list("id", "name"))
    place = {identifier: number for number, identifier in enumerate(names)}
    triples = EntityEdge.objects.within(demo).values_list("source_id", "target_id", "confidence")
    edges = [(place[source], place[target], trust) for source, target, trust in triples]
    root = next(place[identifier] for identifier, name in names.items() if name == "Ines Carvalho")
    hops = Counter(reached.hops for reached in traverse(edges, [root], (1.0, 0.6, 0.35)).values())
    assert set(hops) == {1, 2, 3}
    assert min(hops.values()) >= 3


def test_the_judged_queries_cover_every_category_and_what_was_unanswerable(demo: Namespace) -> None:
    queries = JudgedQuery.objects.within(demo)
    assert queries.filter(kind=QueryKind.ANSWERABLE).count() >= 120
    assert queries.filter(kind=QueryKind.UNANSWERABLE).count() >= 30
    assert set(count_by(queries, "category")) == CATEGORIES
    assert min(count_by(queries, "category").values()) >= 15
    for query in queries.annotate(answers=Count("judgements", filter=Q(judgements__grade__gt=0))):
        unanswered = query.kind == QueryKind.UNANSWERABLE
        assert (query.answers == 0) == unanswered == (query.category == "never-stored"), query.text
    assert set(count_by(Judgement.objects.within(demo), "grade")) == {0, 1, 2, 3}


def test_what_only_seems_to_answer_is_judged_and_can_come_back(demo: Namespace) -> None:
    queries = JudgedQuery.objects.within(demo)
    misses = Q(judgements__grade=0)
    assert queries.filter(misses, kind=QueryKind.ANSWERABLE).distinct().count() >= 40
    for query in queries.filter(kind=QueryKind.UNANSWERABLE).annotate(misses=Count("judgements", filter=misses)):
        assert 1 <= query.misses <= 2, query.text
    assert not Judgement.objects.within(demo).filter(grade=0).exclude(memory__status=Status.ACTIVE).exists()


def test_no_grade_rests_on_a_memory_that_cannot_come_back_because_it_was_merged(demo: Namespace) -> None:
    assert not Judgement.objects.within(demo).filter(memory__status=Status.MERGED).exists()


def test_some_facts_have_expired_some_are_about_to_and_some_do_not_hold_yet(demo: Namespace) -> None:
    active, now = facts(demo).filter(status=Status.ACTIVE), demo.clock
    assert now is not None
    assert active.filter(valid_until__lt=now).count() >= 5
    assert active.filter(valid_until__range=(now, now + timedelta(days=3))).count() >= 3
    assert active.filter(valid_from__gt=now).count() >= 3


def test_what_says_the_same_was_merged_and_what_contradicts_never(demo: Namespace) -> None:
    merged = Memory.objects.within(demo).filter(status=Status.MERGED).select_related("merged_into")
    assert {(one.content, one.merged_into.content) for one in merged if one.merged_into} == {
        (one.content, other.content) for one, other in pairs("duplicate")
    }
    for memory in merged:
        assert memory.merged_into is not None
        assert memory.merged_into.status == Status.ACTIVE
        assert memory.merged_into.created_at < memory.created_at
        assert memory.merged_into.confidence >= memory.confidence
        turns = set(memory.sources.values_list("turn_id", flat=True))
        assert turns <= set(memory.merged_into.sources.values_list("turn_id", flat=True))
        assert conflicts(statement(memory.merged_into), statement(memory)) == (), memory
    contradictions = MemoryEdge.objects.within(demo).filter(kind=EdgeKind.CONTRADICTION)
    assert contradictions.filter(cosine__gt=WritePolicyParams().dedup_duplicate).count() >= 5
    found = {frozenset((one.source.content, one.target.content)) for one in contradictions}
    assert {frozenset((one.content, other.content)) for one, other in pairs("contradiction")} <= found
    assert not contradictions.filter(Q(source__status=Status.MERGED) | Q(target__status=Status.MERGED)).exists()


def pairs(kind: str) -> list[tuple[DemoMemory, DemoMemory]]:
    """The memories that were written to bear on each other in some way."""
    written = read_demo_world()
    return [(written.memories[one.source], written.memories[one.target]) for one in written.links if one.kind == kind]


def statement(memory: Memory) -> FactStatement:
    """What a memory says, as it is compared."""
    subject = memory.subject.name if memory.subject else memory.subject_surface
    return FactStatement(memory.content, subject, memory.predicate, memory.object)


def test_a_pair_between_the_thresholds_waits_for_a_verdict_in_words(demo: Namespace) -> None:
    reviews, policy = ReviewItem.objects.within(demo).filter(state=Verdict.PENDING), WritePolicyParams()
    assert reviews.count() >= 9
    escalated = {(one.content, other.content) for one, other in pairs("escalate")}
    assert {(one.second.content, one.first.content) for one in reviews} <= escalated
    assert not reviews.exclude(cosine__range=(policy.dedup_escalate, policy.dedup_duplicate)).exists()
    assert not reviews.exclude(first__status=Status.ACTIVE, second__status=Status.ACTIVE).exists()
    assert all(review.reason.startswith(f"cosine {review.cosine:.3f}") for review in reviews)


def test_two_annotators_agree_well_enough_and_least_on_preferences(demo: Namespace) -> None:
    found = calibrate(demo)
    assert found.valid
    assert len(found.annotated.annotators) == 2
    kappas = {one.type: one.kappa.value for one in found.types if one.kappa}
    assert set(kappas) == set(MemoryType.values)
    assert min(kappas, key=lambda type: kappas[type]) == "Preference"
    assert kappas["Preference"] < WritePolicyParams().kappa_preference
    assert found.weights is not None
    assert found.weights.improves
    assert found.best is not None


def test_belief_protects_some_and_leaves_some_to_be_archived(demo: Namespace) -> None:
    assert facts(demo).filter(belief__gt=8).count() >= 3
    assert facts(demo).filter(belief__lt=2).exists()


def test_updates_leave_the_old_statement_superseded(demo: Namespace) -> None:
    gone = facts(demo).filter(status=Status.SUPERSEDED).select_related("superseded_by")
    assert {(one.superseded_by.content, one.content) for one in gone if one.superseded_by} == {
        (one.content, other.content) for one, other in pairs("supersedes")
    }
    for one in gone:
        after = one.superseded_by.valid_from if one.superseded_by else None
        assert one.valid_until is not None
        assert after is not None
        assert one.valid_until <= after, one
    chain = Memory.objects.within(demo).filter(predicate="standup_time").order_by("created_at")
    assert list(chain.values_list("status", flat=True)) == [Status.SUPERSEDED, Status.SUPERSEDED, Status.ACTIVE]
    assert [memory.superseded_by_id for memory in chain[:2]] == [memory.id for memory in chain[1:]]


def test_a_memory_that_is_hardly_grounded_is_rejected_and_kept(demo: Namespace) -> None:
    rejected = Memory.objects.within(demo).get(status=Status.REJECTED)
    assert rejected.confidence == pytest.approx(0.45 * 0.30 + 0.25 * 0.65 + 0.10 * 0.80 - 0.20)
    assert rejected.reason == "only partly grounded, so it keeps 0.18, and the floor is 0.30"
    partly = Memory.objects.within(demo).filter(grounding="partial", status=Status.ACTIVE)
    assert partly.count() >= 5
    assert set(count_by(partly, "grounding_penalty")) == {0.2}


def test_an_unknown_type_counts_as_an_uncertain_fact(demo: Namespace) -> None:
    uncertain = facts(demo).filter(type_uncertain=True)
    assert uncertain.count() >= 3
    assert set(uncertain.values_list("type", "type_prior")) == {("Fact", 0.75)}
    assert all("type_uncertain" in memory.tag_names for memory in uncertain)
    assert not MemoryTag.objects.within(demo).filter(tag="type_uncertain").exists()


def test_a_subject_nobody_knows_gets_a_fallback(demo: Namespace) -> None:
    unknown = facts(demo).filter(subject_id=None)
    assert unknown.count() >= 5
    assert not unknown.filter(Q(subject_fallback=None) | Q(subject_surface="")).exists()


def test_a_confirmation_lifts_the_source_and_counts_once_more(demo: Namespace) -> None:
    lifted = Memory.objects.within(demo).get(confirmed_at__isnull=False, sources__level="speculation")
    event = ScoreEvent.objects.within(demo).get(memory_id=lifted.id, cause="confirmed")
    assert (event.before["source_strength"], event.after["source_strength"]) == (0.30, 0.80)
    assert event.after["repetitions"] == event.before["repetitions"] + 1


def test_the_worked_example_is_stored_and_scored_as_in_the_paper(demo: Namespace, example: Memory) -> None:
    stored = (example.source_strength, example.repetitions, example.extractor_confidence, example.type_prior)
    assert stored == (0.95, 3, 0.80, 0.75)
    assert example.confidence == pytest.approx(0.8187, abs=5e-5)
    assert demo.clock is not None
    signals = Signals(
        ids=np.array([str(example.id)]),
        type=np.array([TYPES.index(example.type)]),
        age_days=np.array([(demo.clock - example.created_at) / timedelta(days=1)]),
        access_count=np.array([float(example.access_count)]),
        confidence=np.array([example.confidence]),
        ranks={"semantic": np.array([3.0]), "bm25": np.array([1.0])},
    )
    assert float(score(signals, RecallParams()).value[0]) == pytest.approx(0.042099, abs=5e-7)


def test_the_evidence_for_the_worked_example_came_step_by_step(example: Memory) -> None:
    now: dict[str, Any] = {}
    table = []
    for event in ScoreEvent.objects.within(example.namespace).filter(memory_id=example.id).order_by("at", "id"):
        now |= event.after
        row = (event.at.date(), event.cause, now["repetitions"], round(now["confidence"], 4), now["belief"])
        table.append(row)
    assert table == [
        (date(2025, 12, 2), "stored", 0, 0.7025, 5.0),
        (date(2025, 12, 9), "merged", 1, 0.7844, 5.0),
        (date(2026, 1, 14), "observed", 2, 0.8072, 5.0),
        (date(2026, 1, 20), "contradicted", 2, 0.8072, 3.5),
        (date(2026, 2, 11), "observed", 3, 0.8187, 3.5),
        (date(2026, 2, 18), "corroborated", 3, 0.8187, 4.0),
        (date(2026, 3, 2), "found useful", 3, 0.8187, 4.0),
    ]
    others = ScoreEvent.objects.within(example.namespace).filter(memory_id=example.id, other_id__isnull=False)
    contents = dict(Memory.objects.within(example.namespace).values_list("id", "content"))
    assert [contents[event.other_id] for event in others.order_by("at") if event.other_id] == [
        "Uses PostgreSQL for new projects, team standard at Arrive since 2024",
        "Tries MySQL 8 for the reporting job",
        "PostgreSQL is the team standard for new projects at Arrive",
    ]


def test_every_memory_is_what_its_history_adds_up_to(demo: Namespace) -> None:
    folded: dict[Any, dict[str, Any]] = {}
    for event in ScoreEvent.objects.within(demo).order_by("at", "id"):
        state = folded.setdefault(event.memory_id, {})
        assert event.before == {name: state.get(name) for name in event.before}
        state |= event.after
    for memory in Memory.objects.within(demo):
        for name, value in folded[memory.id].items():
            now = getattr(memory, name)
            assert (now.isoformat() if isinstance(now, datetime) else now) == value, f"{memory}: {name}"


def test_every_explanation_in_the_history_adds_up(demo: Namespace) -> None:
    for event in ScoreEvent.objects.within(demo):
        told = {"confidence", "belief", "useful", "not_useful"} & event.after.keys()
        assert bool(event.parts) == bool(told)
        if "confidence" in told:
            assert evaluate(event.parts) == pytest.approx(event.after["confidence"], abs=1e-9)
        elif "belief" in told:
            assert evaluate(event.parts) == pytest.approx(event.after["belief"], abs=1e-9)


def test_repetitions_count_the_turns_sessions_and_documents_that_state_a_memory_again(demo: Namespace) -> None:
    for memory in facts(demo).prefetch_related("sources"):
        confirmed = memory.confirmed_at is not None
        stated: dict[tuple[Any, str], list[bool]] = {}
        for row in sorted(memory.sources.all(), key=lambda row: row.turn_id or UUID(int=0)):
            turns = stated.setdefault((row.session_id, row.source), [])
            # Only the first mention may be speculation.
            turns.append(bool(row.turn_id) and (not turns or row.level != SourceLevel.SPECULATION))
        assert memory.repetitions == sum(max(sum(turns), 1) for turns in stated.values()) - 1 + confirmed, memory


def test_belief_counts_the_sources_that_corroborate_and_no_session_of_the_same_user(demo: Namespace) -> None:
    active = facts(demo).filter(status=Status.ACTIVE).prefetch_related("sources")
    repeated = [memory for memory in active if len({row.source for row in memory.sources.all()}) == 1]
    assert max(memory.repetitions for memory in repeated) >= 8
    supported = set(ScoreEvent.objects.within(demo).filter(cause="corroborated").values_list("memory_id", flat=True))
    assert {memory.corroborations for memory in repeated if memory.id not in supported} == {0}


def test_confidence_follows_from_the_stored_signals(demo: Namespace) -> None:
    policy = WritePolicyParams()
    for memory in Memory.objects.within(demo).prefetch_related("sources"):
        levels = {source.level for source in memory.sources.all()}
        evidence = Evidence(
            levels=frozenset(levels),
            repetitions=memory.repetitions,
            type="" if memory.type_uncertain else memory.type,
            model=memory.extractor_model,
            logprob=memory.extractor_logprob,
            grounding=cast("Grounding", memory.grounding),
            confirmed=memory.confirmed_at is not None,
        )
        assert memory.confidence == pytest.approx(float(memory_confidence(evidence, policy).value), abs=1e-12), memory


def test_accesses_by_day_add_up_to_the_count(demo: Namespace) -> None:
    by_day = dict(DailyAccess.objects.within(demo).values_list("memory_id").annotate(Sum("count")))
    for memory in Memory.objects.within(demo):
        assert memory.access_count == by_day.get(memory.id, 0)
        assert (memory.last_accessed_at is None) == (memory.access_count == 0)


def test_users_speak_under_their_names_and_the_assistant_has_none(demo: Namespace) -> None:
    speakers = set(Turn.objects.within(demo).values_list("role", "session__user", "speaker").distinct())
    assert {speaker for role, _, speaker in speakers if role == "assistant"} == {""}
    named = {(user, speaker) for role, user, speaker in speakers if role == "user"}
    assert named == {("maya", "Maya Lindqvist"), ("priya", "Priya Raman"), ("ines", "Ines Carvalho")}


def test_every_identifier_carries_the_time_of_its_row(demo: Namespace) -> None:
    for memory in Memory.objects.within(demo):
        assert id_timestamp(memory.id) == memory.created_at
    for event in ScoreEvent.objects.within(demo):
        assert id_timestamp(event.id) == event.at


def test_the_restored_world_equals_the_one_written_from_the_sources(demo: Namespace) -> None:
    written = loader.write_demo_world("written")
    for model in NAMESPACED:
        first, second = rows_by_key(model, demo), rows_by_key(model, written)
        assert first.keys() == second.keys(), model.__name__
        for key, row in first.items():
            wrong = [name for name, value in row.items() if not is_close(value, second[key][name])]
            assert not wrong, (model.__name__, key, wrong)


def test_the_command_loads_equal_rows_and_says_how_many(demo: Namespace) -> None:
    out = io.StringIO()
    User.objects.update(username="somebody")  # the demo is loaded without its user too
    call_command("load_demo", namespace="again", stdout=out)
    again = Namespace.objects.get(slug="again")
    assert out.getvalue() == f"Loaded {facts(again).count()} memories into again.\n"
    assert not again.memberships.exists()
    # The command queues jobs and stores traces by a key, all of them new each time.
    for model in set(NAMESPACED) - {Job, Trace, ApiKey}:
        assert rows_by_key(model, again) == rows_by_key(model, demo), model.__name__


def test_build_demo_writes_the_shipped_export_and_leaves_the_database_as_it_was(
    demo: Namespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def write(slug: str) -> Namespace:
        Namespace.objects.filter(id=demo.id).update(slug=slug)
        return demo

    monkeypatch.setattr(build_demo, "write_demo_world", write)
    file = tmp_path / "world.ndjson.gz"
    shipped = gzip.decompress(world_export.EXPORT.read_bytes())
    count = len(shipped.split(b"\n")) - 1
    assert run_command("build_demo", str(file)) == f"{count} lines, {file.stat().st_size} bytes in {file}.\n"
    assert gzip.decompress(file.read_bytes()) == shipped
    assert Namespace.objects.get(id=demo.id).slug == "demo"


def test_the_export_is_small_enough_to_ship() -> None:
    assert world_export.EXPORT.stat().st_size < 6_000_000


def test_another_embedder_than_the_export_s_writes_the_world_anew(
    settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.RECALL_EMBEDDER = "wordllama-256"
    monkeypatch.setattr(loader, "write_demo_world", lambda slug: f"{slug}, written")
    with caplog.at_level("INFO", "memories.demo"):
        assert loader.load_demo_world("other") == "other, written"
    assert [record.getMessage() for record in caplog.records] == [
        "The demo world is embedded anew: its export has vectors of all-MiniLM-L6-v2, RECALL_EMBEDDER is wordllama-256"
    ]


# What a restore does not keep: the namespace's id, and the numbers of its writes and documents.
NOT_RESTORED = {"namespace_id", "written", "writes", "epoch", "number", "last_document"}


def rows_by_key(model: type[Any], namespace: Namespace) -> dict[tuple[Any, ...], dict[str, Any]]:
    """A table's rows in a namespace by primary key, without the columns a restore does not keep."""
    rows = model.objects.within(namespace)
    if model is TermStatistic:
        rows = rows.filter(documents__gt=0)  # the write path leaves rows of terms that no memory has any more
    columns = [field.attname for field in model._meta.concrete_fields if field.attname not in NOT_RESTORED]
    key = [field.attname for field in model._meta.pk_fields if field.attname in columns] or columns
    return {
        tuple(row[name] for name in key): {name: plain(value) for name, value in row.items()}
        for row in rows.values(*columns)
    }


def plain(value: Any) -> Any:
    """A column's value as what can be compared with ==."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return bytes(value) if isinstance(value, memoryview) else value


def is_close(first: Any, second: Any) -> bool:
    """Whether two columns are equal up to how a processor rounds a vector: floats to 1e-4, packed states to 1."""
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-4, abs_tol=1e-4)
    if isinstance(first, bytes) and isinstance(second, bytes):
        states = (np.frombuffer(packed, dtype=np.int8).astype(int) for packed in (first, second))
        return len(first) == len(second) and np.allclose(*states, rtol=0, atol=1)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(is_close(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(is_close, first, second))
    return bool(first == second)


def test_queries_really_came_from_agents_and_people_and_count_as_no_access(demo: Namespace) -> None:
    used = list(Memory.objects.within(demo).order_by("id").values_list("id", "access_count", "memory_score"))
    store_sample_traces(demo)
    traces = list(Trace.objects.within(demo).order_by("id"))
    assert len(traces) == 42
    assert {one.system for one in traces} == set(SYSTEMS)
    assert {one.abstained for one in traces} == {True, False}
    assert sum(one.api_key_id is not None for one in traces) == 28
    assert list(Memory.objects.within(demo).order_by("id").values_list("id", "access_count", "memory_score")) == used
    for one in traces[:6]:
        again = replay(one, config_from_trace(one))
        assert [str(row["id"]) for row in answer_to_dict(again.retrieval)["results"]] == [
            row["id"] for row in one.answer["results"]
        ]
    asked = retriever_health.health_by_retriever(retriever_health.latest_traces(demo))
    weighted = [system.weighted_retrievers(system.params()) for system in SYSTEMS.values()]
    assert {health.retriever for health in asked} == set().union(*weighted)
    assert [health.retriever for health in asked if health.alert] == []


def test_the_demo_user_may_do_everything_there(demo: Namespace) -> None:
    assert (demo.title, demo.mode) == ("Maya's assistant", "general")
    assert demo.memberships.get().role == Role.ADMIN
    assert demo.memberships.get().user.username == "demo"


def test_the_demo_world_is_restored_equal_to_the_letter(demo: Namespace, tmp_path: Path) -> None:
    lines = lines_of(demo)
    run_command("import_memories", "there", write_lines(tmp_path, lines), "--create")
    there = Namespace.objects.get(slug="there")
    assert lines_of(there)[1:] == lines[1:]
    assert search_index_rows(there) == search_index_rows(demo)


def test_the_demo_quotes_nothing_erased_and_can_be_erased_to_the_last_word(demo: Namespace) -> None:
    replaced = Memory.objects.within(demo).filter(status=Status.SUPERSEDED).select_related("superseded_by")
    quoted = {one.superseded_by.id: one.superseded_by.content for one in replaced if one.superseded_by}
    Erasure(demo).erase(list(quoted))
    left = str(list(ScoreEvent.objects.within(demo).values_list("before", "after"))) + str(
        list(Memory.objects.within(demo).values_list("reason"))
    )
    assert not [text for text in quoted.values() if text in left]
    for user in set(Memory.objects.within(demo).values_list("user", flat=True)):
        Erasure(demo, user=user).erase_user()
    for model in (Memory, Session, Turn, ScoreEvent, MemorySource, Judgement, Posting, TermStatistic):
        assert not model._default_manager.filter(namespace=demo).exists(), model
