"""Every retriever gives what a naive computation over all memories gives: whom, with which score, in which order."""

import importlib
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext
from retrieval_world import NOW, asking, memory, new, told, world
from test_model_rows import row

from memories import journey
from memories.language.entities import Found
from memories.models import (
    Cluster,
    DailyAccess,
    Entity,
    EntityAlias,
    EntityEdge,
    Memory,
    MemoryEdge,
    MemorySource,
    MemoryTag,
    MemoryVector,
    Mention,
    Namespace,
    NamespaceStatistics,
    Posting,
    ScoreEvent,
    Session,
    SessionReturn,
    TermStatistic,
    TokenStates,
    Turn,
)
from memories.models.choices import STATEMENTS, ChunkLevel, Route
from memories.retrieval import accessing, tracing
from memories.retrieval import retrieve as retrieving
from memories.retrieval.answer import ids_of
from memories.retrieval.answer import told as tell
from memories.retrieval.asking import ask
from memories.retrieval.query import Filters, Query
from memories.retrieval.reading import Reading, read
from memories.retrieval.retrieve import questions, retrieve
from memories.retrieval.retrievers.question import Question
from memories.retrieval.scope import Scope
from memories.writing import visibility
from memories.writing.remember import remember
from scoring.bm25 import bm25
from scoring.graph import traverse
from scoring.specificity import Plan
from scoring.systems import SYSTEMS

__all__ = ["world"]
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

ALL_LEVELS = tuple(ChunkLevel.values)
EVERYTHING = "What did Maya and Priya say about the invoicing backup and the database schema last month?"
# By which system a route is asked.
ROUTES = {route: name for name in ("memsense", "blend", "recall") for route in SYSTEMS[name].routes}

# The package gives the retriever itself by this name.
by_words = importlib.import_module("memories.retrieval.retrievers.bm25")

Listed = list[tuple[UUID, float]]


def asked(query: Query, route: str, *, pool: int = 500, reading: Reading | None = None) -> Question | None:
    """The question of one route, whatever the plan."""
    reading = reading or read(query)
    plan = Plan("all", retrievers=query.setting.system.routes)
    return questions(query, reading, Scope.of(query), plan, query.setting.under(plan), pool)[route]


def found(query: Query, route: str, *, pool: int = 500, reading: Reading | None = None) -> Listed:
    """What one route gives for a query, in its order."""
    answer = ask({route: asked(query, route, pool=pool, reading=reading)})
    assert answer.late == {}
    return list(answer.scores[route].items())


def same(given: Listed, expected: Listed, *, within: float = 1e-6) -> None:
    """Hold two lists against each other: the same memories in the same order with the same scores."""
    assert [id for id, _ in given] == [id for id, _ in expected]
    assert [score for _, score in given] == pytest.approx([score for _, score in expected], abs=within)


def open_to(namespace: Namespace, levels: Sequence[str] = STATEMENTS) -> list[Memory]:
    """The memories that can be found."""
    return [one for one in Memory.objects.within(namespace) if one.status == "active" and one.level in levels]


def cosines(namespace: Namespace, reading: Reading, route: str = Route.FULL) -> dict[UUID, float]:
    """The cosine of every memory's vector of a route to the query's, one by one."""
    near = {}
    for one in MemoryVector.objects.within(namespace).filter(route=route, embedder=namespace.embedder):
        vector = np.asarray(one.vector, dtype=float)
        near[one.memory_id] = float(vector @ reading.vector / np.linalg.norm(vector) / np.linalg.norm(reading.vector))
    return near


def in_order(scores: Mapping[UUID, float], near: Mapping[UUID, float]) -> Listed:
    """Falling score; equal ones by cosine, those without a vector last, then by id."""
    return sorted(scores.items(), key=lambda one: (-one[1], -near.get(one[0], -math.inf), one[0]))


def lexemes(text: str) -> dict[str, int]:
    """The words of a text as Postgres cuts them, and how often each occurs."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT lexeme, cardinality(positions) FROM unnest(to_tsvector('english', %s))", [text])
        return dict(cursor.fetchall())


def scored_by_words(namespace: Namespace, query: str, k1: float = 1.2, b: float = 0.75) -> dict[UUID, float]:
    """BM25 by a loop over the words of all active memories, and by the formula over a matrix: both must agree."""
    texts = {one.id: lexemes(one.content) for one in open_to(namespace, ALL_LEVELS)}
    terms = sorted(lexemes(query))
    length = {id: sum(words.values()) for id, words in texts.items()}
    average = sum(length.values()) / len(texts)
    holding = {term: sum(term in words for words in texts.values()) for term in terms}
    scores: dict[UUID, float] = {}
    for id, words in texts.items():
        for term in terms:
            if term in words:
                idf = math.log((len(texts) - holding[term] + 0.5) / (holding[term] + 0.5) + 1)
                f = words[term]
                part = idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length[id] / average))
                scores[id] = scores.get(id, 0.0) + part
    matrix = np.array([[words.get(term, 0) for term in terms] for words in texts.values()], dtype=float)
    counts = np.array([holding[term] for term in terms], dtype=float)
    lengths = np.array(list(length.values()), dtype=float)
    formula = bm25(matrix, lengths, counts, documents=len(texts), average_length=average, k1=k1, b=b)
    assert formula == pytest.approx([scores.get(id, 0.0) for id in texts])
    return scores


# By meaning


@pytest.mark.parametrize("text", ["Which database does invoicing use?", "coffee", "the of and"])
def test_meaning_is_the_cosine_to_every_vector(world: Namespace, text: str) -> None:
    query = asking(world, text)
    reading = read(query)
    near = cosines(world, reading)
    expected = in_order({one.id: near[one.id] for one in open_to(world)}, near)
    same(found(query, "semantic"), expected)
    same(found(query, "semantic", pool=5), expected[:5])


@pytest.mark.parametrize("route", [*Route])
def test_each_vector_route_is_the_cosine_to_its_own_vectors(world: Namespace, route: Route) -> None:
    chunk = Memory.objects.within(world).filter(level="turn").first()
    assert chunk is not None
    for facet, direction in ((Route.PERSONAL_INFO, 1), (Route.PREFERENCES, 2), (Route.EVENTS, 3)):
        vector = np.eye(1, 384, direction)[0].tolist()
        row(MemoryVector, world, memory=chunk, route=facet, embedder=world.embedder, vector=vector, level="turn")
    # The context of a memory is blend's; it knows statements alone, unless it is told otherwise.
    system, name = ("blend", "context") if route == Route.CONTEXT else ("memsense", route.value)
    query = asking(world, EVERYTHING, system, filters=Filters(levels=ALL_LEVELS))
    near = cosines(world, read(query), route)
    assert near
    same(found(query, name), in_order({id: near[id] for id in near}, near))


def test_equally_near_memories_stand_by_their_ids(world: Namespace) -> None:
    MemoryVector.objects.within(world).update(vector=np.eye(1, 384)[0].tolist())
    listed = [id for id, _ in found(asking(world, "coffee"), "semantic")]
    assert listed == sorted(one.id for one in open_to(world))


# By words


@pytest.mark.parametrize("text", ["Which database does invoicing use?", "backup BACKUP backups", EVERYTHING, "schema"])
@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.0, 0.75), (3.0, 1.0), (1.2, 0.0)])
def test_words_are_scored_exactly_by_the_formula(world: Namespace, text: str, k1: float, b: float) -> None:
    query = asking(world, text, params={"bm25_k1": k1, "bm25_b": b}, filters=Filters(levels=ALL_LEVELS))
    scores = dict(found(query, "bm25"))
    assert scores == pytest.approx(scored_by_words(world, text, k1, b))
    assert list(scores.values()) == sorted(scores.values(), reverse=True)


def test_the_statistics_of_words_are_those_of_all_memories_whatever_the_filter(world: Namespace) -> None:
    whole = scored_by_words(world, EVERYTHING)
    narrow = dict(found(asking(world, EVERYTHING, filters=Filters(tags=("database",))), "bm25"))
    assert narrow
    assert narrow == pytest.approx({id: whole[id] for id in narrow})


def test_rare_words_find_and_common_words_only_score(world: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Maya and Priya review the database"
    query = asking(world, text, filters=Filters(levels=ALL_LEVELS))
    texts = {one.id: lexemes(one.content) for one in open_to(world, ALL_LEVELS)}
    holding = {term: {id for id, words in texts.items() if term in words} for term in lexemes(text)}
    counts = {term: len(ids) for term, ids in holding.items()}
    assert counts == {"review": 1, "databas": 1, "maya": 3, "priya": 4}
    whole = scored_by_words(world, text)
    for budget, finding in ((1, 1), (2, 2), (4, 2), (5, 3), (8, 3), (9, 4)):
        monkeypatch.setattr(by_words, "FINDING", budget)
        rarest = sorted(counts, key=lambda term: counts[term])[:finding]
        expected = {id: whole[id] for id in set().union(*(holding[term] for term in rarest))}
        assert dict(found(query, "bm25")) == pytest.approx(expected), budget


def test_one_word_finds_whatever_the_budget(world: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_words, "FINDING", 0)
    assert len(found(asking(world, "Priya"), "bm25")) == 2


def test_the_other_lexical_mode_is_what_postgres_says(world: Namespace) -> None:
    Memory.objects.within(world).filter(content__startswith="Invoicing stores").update(predicate="database of invoices")
    text = "Which database does invoicing use?"
    wanted = " | ".join(sorted(lexemes(text)))
    given = dict(found(asking(world, text, params={"lexical": "ts_rank_cd"}), "bm25"))
    expected = {}
    for one in open_to(world):
        with connection.cursor() as cursor:
            cursor.execute(
                """SELECT ts_rank_cd(v, q, 32), v @@ q FROM (SELECT %s::tsquery) AS asked(q),
                LATERAL (SELECT setweight(to_tsvector('english', %s), 'A')
                    || setweight(to_tsvector('english', %s), 'B') AS v) one""",
                [wanted, one.content, one.predicate],
            )
            score, matches = cursor.fetchone()
            if matches:
                expected[one.id] = score
    assert len(expected) > 2
    assert given == pytest.approx(expected)


def test_the_other_lexical_mode_takes_any_word_as_a_word(world: Namespace) -> None:
    stored = row(Memory, world, content="o'clock\\path & ! | (x) :*", confidence=0.9)
    row(Posting, world, memory=stored, term="o'clock\\", frequency=1)
    reading = read(query := asking(world, "x", params={"lexical": "ts_rank_cd"}))
    odd = replace(reading.words, holding={"o'clock\\": 1}, spans=())
    assert [id for id, _ in found(query, "bm25", reading=replace(reading, words=odd))] == [stored.id]


def told_alike(count: int) -> Namespace:
    """A namespace of memories that a word finds equally well, whose meanings differ, the last the nearest."""
    namespace = Namespace.objects.create(slug="alike", title="Alike", clock=NOW)
    names = ("Oslo", "Lima", "Bonn", "Graz", "Kyiv", "Riga", "Bern", "Nice", "Rome", "Cork", "Bath", "York", "Turin")
    for name in names[:count]:
        remember(namespace, [NewOne(f"The depot of {name} closes")], by="tests")
    query = asking(namespace, "When does the depot close?")
    vector = read(query).vector
    for place, one in enumerate(Memory.objects.within(namespace).order_by("id"), start=1):
        away = np.eye(1, 384)[0] - vector * vector[0]
        away /= np.linalg.norm(away)
        turned = math.sqrt(1 - (place / 20) ** 2) * away + place / 20 * vector
        MemoryVector.objects.within(namespace).filter(memory=one).update(vector=turned.tolist())
    return namespace


def NewOne(content: str, **more: Any) -> Any:  # noqa: N802
    """A memory with nothing but a text."""
    return new(content, "Fact", "", more)


def test_equally_good_words_rank_by_cosine_and_then_by_id() -> None:
    namespace = told_alike(6)
    retrieval = retrieve(asking(namespace, "When does the depot close?"))
    near = dict(zip(retrieval.signals.ids.tolist(), retrieval.signals.cosine, strict=True))
    ranks = dict(zip(retrieval.signals.ids.tolist(), retrieval.signals.ranks["bm25"], strict=True))
    assert sorted(ranks, key=lambda id: ranks[id]) == sorted(near, key=lambda id: -near[id])


def test_of_equally_good_words_the_nearest_are_in_the_pool() -> None:
    namespace = told_alike(13)
    query = asking(namespace, "When does the depot close?")
    near = cosines(namespace, read(query))
    listed = [id for id, _ in found(query, "bm25", pool=10)]
    assert set(listed) == {id for id, _ in in_order(dict.fromkeys(near, 1.0), near)[:10]}


# By words and tags, as memsense has it


def by_words_and_tags(namespace: Namespace, text: str, tags: Sequence[str]) -> dict[UUID, float]:
    """BM25, and for each tag that is named the idf of a word that as many memories hold."""
    scores = scored_by_words(namespace, text)
    everybody = open_to(namespace, ALL_LEVELS)
    for tag in tags:
        holding = [one.id for one in everybody if tag in {held.tag for held in one.tags.all()}]
        for id in holding:
            idf = math.log((len(everybody) - len(holding) + 0.5) / (len(holding) + 0.5) + 1)
            scores[id] = scores.get(id, 0.0) + idf
    return scores


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("What about the backup, and the Database?", ["backup", "database"]),
        ("travel", ["travel"]),
        ("Is there a health routine?", ["health", "routine"]),
        ("schema", []),
        ("the", []),
    ],
)
def test_memsense_adds_the_tags_that_are_named_to_the_words(world: Namespace, text: str, tags: list[str]) -> None:
    given = dict(found(asking(world, text, "memsense"), "lexical"))
    assert given == pytest.approx(by_words_and_tags(world, text, tags))
    assert list(given.values()) == sorted(given.values(), reverse=True)


@pytest.mark.parametrize("tag", ["new york", "new-york", "new_york"])
def test_a_tag_of_several_words_is_named_by_them(world: Namespace, tag: str) -> None:
    tagged = memory(world, "Standup begins")
    row(MemoryTag, world, memory=tagged, tag=tag)
    assert dict(found(asking(world, "What about New York?", "memsense"), "lexical"))[tagged.id] > 0


def test_a_tag_is_named_whatever_its_case(world: Namespace) -> None:
    tagged = memory(world, "Standup begins")
    row(MemoryTag, world, memory=tagged, tag="GDPR")
    assert tagged.id in dict(found(asking(world, "What about GDPR?", "memsense"), "lexical"))


def test_what_a_tag_lifts_keeps_what_its_words_tell(world: Namespace) -> None:
    text = "Lisbon travel"
    whole = by_words_and_tags(world, text, ["travel"])
    best = memory(world, "Lisbon was warm").id
    assert max(whole, key=lambda id: whole[id]) == best
    assert dict(found(asking(world, text, "memsense"), "lexical", pool=1)) == pytest.approx({best: whole[best]})


def test_the_rarity_of_a_tag_is_told_by_active_memories(world: Namespace) -> None:
    for number in range(5):
        row(MemoryTag, world, memory=row(Memory, world, status="archived", content=f"old {number}"), tag="travel")
    given = dict(found(asking(world, "travel", "memsense"), "lexical"))
    assert given == pytest.approx(by_words_and_tags(world, "travel", ["travel"]))


# By whom it is about


def settled(one: Memory) -> bool:
    """Whether its subject and type were told for sure."""
    return not one.type_uncertain and one.subject_fallback is None


def about(namespace: Namespace, worth: Mapping[UUID, float], mention: float = 0.6) -> dict[UUID, float]:
    """What entities are worth to the memories that are about them or mention them: the best of all ways."""
    scores: dict[UUID, float] = {}
    for one in open_to(namespace):
        mentioned = Mention.objects.within(namespace).filter(memory=one).values_list("entity_id", flat=True)
        ways = [worth.get(one.subject_id, 0.0)] if one.subject_id else []
        ways += [mention * worth.get(entity, 0.0) for entity in mentioned]
        if max(ways, default=0.0) > 0:
            scores[one.id] = max(ways)
    return scores


def entity(namespace: Namespace, name: str) -> UUID:
    """The id of an entity."""
    return Entity.objects.within(namespace).get(name=name).id


@pytest.mark.parametrize("mention", [0.6, 0.0, 1.0])
@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("What does Maya prefer?", {"Maya Lindqvist": 1.0}),
        ("What does Lindqvist think of PostgreSQL?", {"Maya Lindqvist": 0.95, "PostgreSQL": 1.0}),
        ("Maya, Priya, Jonas and Arrive", dict.fromkeys(("Maya Lindqvist", "Priya Raman", "Jonas Ek", "Arrive"), 1.0)),
        ("Who is Zoltan?", {}),
    ],
)
def test_a_subject_counts_whole_and_a_mention_less(
    world: Namespace, text: str, matches: dict[str, float], mention: float
) -> None:
    query = asking(world, text, params={"mention_weight": mention})
    worth = {entity(world, name): match for name, match in matches.items()}
    scores = {id: score for id, score in about(world, worth, mention).items() if settled(one_of(world, id))}
    expected = in_order(scores, cosines(world, read(query)))
    same(found(query, "entity"), expected)
    same(found(query, "entity", pool=2), expected[:2])


def one_of(namespace: Namespace, id: UUID) -> Memory:
    """A memory by its id."""
    return Memory.objects.within(namespace).get(id=id)


# By time


def near_in_time(
    namespace: Namespace, start: datetime, until: datetime, sigma: float, floor: float
) -> dict[UUID, float]:
    """A bell curve over the distance of each memory's time from the window, in half-widths."""
    scores = {}
    for one in open_to(namespace):
        if not settled(one):
            continue
        if one.event_at:
            begins, ends = one.event_at, one.event_until or one.event_at
        elif one.valid_from:
            begins, ends = one.valid_from, one.valid_until or one.valid_from
        else:
            begins = ends = one.happened_at or one.created_at
        outside = max(start - ends, begins - until, timedelta(0)) / ((until - start) / 2)
        score = math.exp(-(outside**2) / (2 * sigma**2))
        if score >= floor:
            scores[one.id] = score
    return scores


def moment(year: int, month: int, day: int) -> datetime:
    """The beginning of a day."""
    return datetime(year, month, day, tzinfo=UTC)


@pytest.mark.parametrize(("sigma", "floor"), [(1.0, 0.01), (0.1, 0.01), (5.0, 0.5), (1.0, 0.0)])
@pytest.mark.parametrize(
    ("text", "start", "until"),
    [
        ("Who left two months ago?", moment(2026, 1, 1), moment(2026, 2, 1)),
        ("What was agreed in October 2025?", moment(2025, 10, 1), moment(2025, 11, 1)),
        ("What happened on 2026-01-31?", moment(2026, 1, 31), moment(2026, 2, 1)),
        ("What was new recently?", NOW - timedelta(days=30), NOW),
        ("What was there in 1987?", moment(1987, 1, 1), moment(1988, 1, 1)),
    ],
)
def test_time_is_a_bell_curve_over_half_widths_of_the_window(
    world: Namespace, text: str, start: datetime, until: datetime, sigma: float, floor: float
) -> None:
    query = asking(world, text, params={"temporal_sigma": sigma, "temporal_floor": floor})
    expected = near_in_time(world, start, until, sigma, max(floor, 1e-12))
    same(found(query, "temporal"), in_order(expected, cosines(world, read(query))))


def test_the_time_of_a_memory_is_its_event_else_its_validity_else_when_it_was_said() -> None:
    namespace = Namespace.objects.create(slug="times", title="Times", clock=NOW)
    start, until = moment(2026, 1, 1), moment(2026, 2, 1)
    before, within, after = moment(2025, 6, 1), moment(2026, 1, 10), moment(2026, 6, 1)
    half = (until - start) / 2
    rows: list[tuple[dict[str, Any], float]] = [
        ({"event_at": within, "valid_from": before, "happened_at": before}, 0),
        ({"event_at": before, "event_until": after}, 0),
        ({"event_at": before, "event_until": start - half}, 1),
        ({"event_at": before, "happened_at": within}, math.inf),
        ({"event_at": until + 2 * half, "event_until": after}, 2),
        ({"valid_from": before, "valid_until": within}, 0),
        ({"valid_from": within, "happened_at": before}, 0),
        ({"valid_from": before, "happened_at": within}, math.inf),
        ({"valid_until": after, "happened_at": within}, 0),
        ({"happened_at": within, "created_at": before}, 0),
        ({"created_at": within}, 0),
        ({"created_at": until + half * 3.03}, 3.03),
        ({"created_at": until + half * 3.04}, math.inf),
    ]
    expected = {}
    for given, away in rows:
        stored = row(Memory, namespace, **{"created_at": before, "happened_at": None, **given})
        if away < math.inf:
            expected[stored.id] = math.exp(-(away**2) / 2)
    assert dict(found(asking(namespace, "two months ago"), "temporal")) == pytest.approx(expected)


# Over the graph


def walked(edges: Sequence[tuple[UUID, UUID, float]], roots: set[UUID], hops: Sequence[float]) -> dict[UUID, float]:
    """Every way of up to so many edges, tried one by one."""
    best: dict[UUID, float] = {}

    def onward(here: UUID, weakest: float, taken: int) -> None:
        for one, other, confidence in edges:
            for start, end in {(one, other), (other, one)}:
                if start == here and taken < len(hops):
                    least = min(weakest, confidence)
                    if end not in roots:
                        best[end] = max(best.get(end, 0.0), hops[taken] * least)
                    onward(end, least, taken + 1)

    for root in roots:
        onward(root, 1.0, 0)
    return best


def graph(seed: int) -> tuple[Namespace, list[Entity], list[tuple[UUID, UUID, float]]]:
    """A random graph, with a memory about each entity and some that mention another."""
    chance = random.Random(seed)
    namespace = Namespace.objects.create(slug=f"graph-{seed}", title="Graph", clock=NOW)
    entities = [row(Entity, namespace, name=f"Node{number}", kind="system") for number in range(8)]
    edges = []
    for number in range(chance.randint(4, 12)):
        one, other = chance.choices(entities, k=2)
        confidence = round(chance.random(), 2)
        row(EntityEdge, namespace, source=one, target=other, predicate=f"p{number}", confidence=confidence)
        edges.append((one.id, other.id, confidence))
    EntityEdge.objects.within(namespace).update(created_at=NOW)
    for one in entities:
        stored = row(Memory, namespace, subject=one)
        if chance.random() < 0.5:
            row(Mention, namespace, memory=stored, entity=chance.choice(entities))
    row(Memory, namespace)
    return namespace, entities, edges


@pytest.mark.parametrize("seed", range(12))
def test_traversal_is_the_best_of_all_paths_over_all_edges(seed: int) -> None:
    namespace, entities, edges = graph(seed)
    chance = random.Random(-seed)
    roots = {one.id for one in chance.sample(entities, chance.randint(1, 3))}
    hops = chance.choice([(1.0, 0.6, 0.35), (0.2, 0.9, 1.0), (1.0, 0.6), (1.0,)])
    given = {f"hop_{number}": worth for number, worth in enumerate(hops, start=1)}
    query = asking(namespace, "Node", params={**given, "max_hops": len(hops)})
    named = [Found(one.id, one.name, 0.7) for one in entities if one.id in roots]
    numbers = {one.id: number for number, one in enumerate(entities)}
    counted = [(numbers[one], numbers[other], confidence) for one, other, confidence in edges]
    reached = walked(edges, roots, hops)
    by_formula = traverse(counted, [numbers[one] for one in roots], hops)
    assert {numbers[id]: score for id, score in reached.items()} == pytest.approx(
        {number: one.score for number, one in by_formula.items()}
    )
    listed = found(query, "traversal", reading=replace(read(query), named=named))
    assert dict(listed) == pytest.approx(about(namespace, reached))
    same(listed, in_order(dict(listed), {}))


def test_traversal_goes_both_ways_and_leaves_the_entity_itself_to_the_entity_retriever(world: Namespace) -> None:
    query = asking(world, "What does Invoicing run on?")
    worth = {"Arrive": 0.8, "PostgreSQL": 0.6, "Maya Lindqvist": 0.6 * 0.8, "Priya Raman": 0.35 * 0.7}
    expected = about(world, {entity(world, name): score for name, score in worth.items()})
    same(found(query, "traversal"), in_order(expected, cosines(world, read(query))))
    assert memory(world, "The nightly backup").id not in expected


def test_an_edge_counts_as_long_as_the_memory_it_was_read_from(world: Namespace) -> None:
    query = asking(world, "What about Lisbon?")
    assert found(query, "traversal") == []
    told_by = memory(world, "The offsite in Lisbon")
    here, there = entity(world, "Lisbon"), entity(world, "Priya Raman")
    row(EntityEdge, world, source_id=here, target_id=there, memory=told_by, confidence=0.5, created_at=NOW)
    expected = about(world, walked([(here, there, 0.5), *edges_of(world)], {here}, (1, 0.6, 0.35)))
    assert dict(found(query, "traversal")) == pytest.approx(expected)
    for status in ("archived", "rejected", "forgotten"):
        Memory.objects.within(world).filter(id=told_by.id).update(status=status)
        assert found(query, "traversal") == []


def edges_of(namespace: Namespace) -> list[tuple[UUID, UUID, float]]:
    """The edges between entities."""
    edges = EntityEdge.objects.within(namespace).filter(memory_id=None)
    return list(edges.values_list("source_id", "target_id", "confidence"))


def test_an_edge_that_is_not_drawn_yet_leads_nowhere(world: Namespace) -> None:
    EntityEdge.objects.within(world).update(created_at=NOW + timedelta(seconds=1))
    assert found(asking(world, "What does Maya prefer?"), "traversal") == []


# Who may be found by whom


@pytest.mark.parametrize("route", ROUTES)
def test_an_unsure_type_and_an_unresolved_subject_are_reached_only_where_they_may(world: Namespace, route: str) -> None:
    maya = entity(world, "Maya Lindqvist")
    here = Memory.objects.within(world).filter(content__startswith="Priya reports")
    joined = here.get()
    query = asking(world, "Priya Arrive summer recently", ROUTES[route])
    Memory.objects.within(world).filter(id=joined.id).update(event_at=NOW - timedelta(days=3))
    vector = MemoryVector.objects.within(world).get(memory=joined, route=Route.FULL).vector
    for other in Route:
        if other != Route.FULL:
            row(MemoryVector, world, memory=joined, route=other, embedder=world.embedder, vector=list(vector))
    assert maya
    assert joined.id in dict(found(query, route))
    meaning_and_words = route not in ("entity", "temporal", "traversal")
    here.update(type_uncertain=True)
    assert (joined.id in dict(found(query, route))) == (meaning_and_words or route == "traversal")
    here.update(type_uncertain=False, subject_id=None, subject_fallback=UUID(int=7))
    assert (joined.id in dict(found(query, route))) == meaning_and_words


FILTERS: dict[str, tuple[Filters, Callable[[Memory], bool]]] = {
    "types": (Filters(types=("Preference", "Event")), lambda m: m.type in ("Preference", "Event")),
    "tags": (Filters(tags=("database", "food")), lambda m: bool({"database", "food"} & set(m.tag_names))),
    "users": (Filters(users=("maya", "jonas")), lambda m: m.user in ("maya", "jonas")),
    "nobody": (Filters(users=("",)), lambda m: m.user == ""),
    "levels": (Filters(levels=("turn", "session")), lambda m: m.level in ("turn", "session")),
    "several": (
        Filters(types=("Fact",), tags=("database",), users=("",), levels=("fact",)),
        lambda m: m.type == "Fact" and "database" in m.tag_names and m.user == "" and m.level == "fact",
    ),
}


@pytest.mark.parametrize("wanted", FILTERS)
@pytest.mark.parametrize(
    ("route", "large"), [*((route, False) for route in ROUTES), ("semantic", True), ("vec_user", True)]
)
def test_a_filter_lets_through_what_it_names_and_keeps_the_order_and_scores(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, route: str, wanted: str, large: bool
) -> None:
    if large:
        monkeypatch.setattr(retrieving, "SCAN_BELOW", 1)
        MemoryVector.objects.within(world).update(indexed=True)
    filters, passes = FILTERS[wanted]
    whole = found(asking(world, EVERYTHING, ROUTES[route], filters=Filters(levels=ALL_LEVELS)), route)
    levels = {} if filters.levels else {"levels": ALL_LEVELS}
    given = found(asking(world, EVERYTHING, ROUTES[route], filters=replace(filters, **levels)), route)
    kept = {one.id for one in Memory.objects.within(world) if passes(one)}
    if filters.types:
        kept -= {one.id for one in Memory.objects.within(world) if one.type_uncertain}
    same(given, [(id, score) for id, score in whole if id in kept])


def test_the_filters_were_tried_on_lists_that_hold_something(world: Namespace) -> None:
    query = {name: asking(world, EVERYTHING, name, filters=Filters(levels=ALL_LEVELS)) for name in ROUTES.values()}
    empty = {route for route, name in ROUTES.items() if not found(query[name], route)}
    assert empty == {"facet_personal_info", "facet_preferences", "facet_events"}


@pytest.mark.parametrize("status", ["merged", "superseded", "archived", "rejected", "forgotten"])
@pytest.mark.parametrize("system", ["recall", "blend", "memsense"])
def test_only_active_memories_are_found(world: Namespace, system: str, status: str) -> None:
    gone = memory(world, "Maya prefers")
    other = memory(world, "Maya drinks").id
    ends = {"merged": {"merged_into_id": other}, "superseded": {"superseded_by_id": other}}
    Memory.objects.within(world).filter(id=gone.id).update(status=status, **ends.get(status, {}))
    MemoryVector.objects.within(world).filter(memory=gone).update(active=False)
    Posting.objects.within(world).filter(memory=gone).delete()
    batch = retrieve(asking(world, "What does Maya prefer? PostgreSQL, recently", system)).batch
    assert gone.id not in [one["id"] for one in batch.rows]
    assert other in [one["id"] for one in batch.rows]


# The index


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("as_of", [None, NOW], ids=["today", "as of now"])
def test_the_index_and_a_scan_of_the_rest_find_what_a_scan_finds(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, share: float, as_of: datetime | None
) -> None:
    query = asking(world, EVERYTHING, as_of=as_of)
    plain, nearest = retrieve(query), found(query, "semantic")
    monkeypatch.setattr(retrieving, "SCAN_BELOW", 1)
    ids = list(MemoryVector.objects.within(world).order_by("id").values_list("id", flat=True))
    chosen = random.Random(1).sample(ids, int(share * len(ids)))
    MemoryVector.objects.within(world).filter(id__in=chosen).update(indexed=True)
    same(found(query, "semantic"), nearest, within=1e-3)
    same(found(query, "semantic", pool=7), nearest[:7], within=1e-3)
    indexed = retrieve(query)
    assert [one["id"] for one in indexed.batch.rows] == [one["id"] for one in plain.batch.rows]
    assert indexed.ranking.score.value.tolist() == plain.ranking.score.value.tolist()


def test_the_index_is_asked_on_past_the_vectors_of_others_and_those_filtered_out(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = asking(world, "coffee", filters=Filters(tags=("routine",)))
    expected = found(query, "semantic")
    crowd = Namespace.objects.create(slug="crowd", title="Crowd", clock=NOW)
    nearer = read(query).vector + np.random.default_rng(1).normal(size=(150, 384)) / 60
    nearer /= np.linalg.norm(nearer, axis=1, keepdims=True)
    MemoryVector.objects.bulk_create(
        MemoryVector(
            memory=row(Memory, crowd), namespace=crowd, embedder=world.embedder, vector=one.tolist(), indexed=True
        )
        for one in nearer
    )
    monkeypatch.setattr(retrieving, "SCAN_BELOW", 1)
    MemoryVector.objects.within(world).update(indexed=True)
    question = asked(query, "semantic", pool=10)
    assert question is not None
    ways = ("seqscan", "bitmapscan", "sort")
    off = (journey.Statement(f"SET LOCAL enable_{name} = off", answered=False) for name in ways)
    [way] = journey.answered([*off, journey.Statement(f"EXPLAIN {question.sql}", question.values)])
    assert "memoryvector_all_minilm_l6_v2" in str(way)
    same(found(query, "semantic", pool=10), expected, within=1e-3)


def test_a_world_of_another_embedder_is_never_compared(world: Namespace) -> None:
    other = memory(world, "Maya drinks")
    row(MemoryVector, world, memory=other, embedder="wordllama-256", vector=np.eye(1, 256)[0].tolist())
    near = cosines(world, read(query := asking(world, "coffee")))
    assert dict(found(query, "semantic"))[other.id] == pytest.approx(near[other.id], abs=1e-6)


# The walls

COPIED = (
    *(Session, Turn, Cluster, Entity, EntityAlias, NamespaceStatistics, TermStatistic, Memory, MemoryTag),
    *(MemoryVector, TokenStates, Posting, Mention, EntityEdge, MemoryEdge, MemorySource, ScoreEvent, DailyAccess),
    SessionReturn,
)


def twin_of(namespace: Namespace) -> Namespace:
    """Another namespace with the same rows under the same ids, so that only the namespace tells them apart."""
    twin = Namespace.objects.create(slug="twin", title="Twin", clock=namespace.clock)
    with connection.cursor() as cursor:
        for model in COPIED:
            columns = [f'"{field.column}"' for field in model._meta.concrete_fields if field.column != "namespace_id"]
            cursor.execute(
                f"""INSERT INTO {model._meta.db_table} (namespace_id, {", ".join(columns)})
                SELECT %s, {", ".join(columns)} FROM {model._meta.db_table} WHERE namespace_id = %s""",
                [twin.id, namespace.id],
            )
    return twin


def answered(namespace: Namespace, as_of: datetime | None) -> dict[str, Any]:
    """All that every system tells of a query, without the time it took."""
    given = {"user": "maya", "session": "s", "as_of": as_of}
    answers = {name: tell(retrieve(asking(namespace, EVERYTHING, name, **given)), explain="full") for name in SYSTEMS}
    return {name: {**answer, "took_ms": {}} for name, answer in answers.items()}


@pytest.mark.parametrize("as_of", [None, NOW], ids=["today", "as of now"])
@pytest.mark.parametrize("large", [False, True], ids=["scan", "index"])
def test_what_happens_to_the_same_ids_in_another_namespace_changes_nothing_here(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, as_of: datetime | None, large: bool
) -> None:
    if large:
        monkeypatch.setattr(retrieving, "SCAN_BELOW", 1)
        MemoryVector.objects.within(world).update(indexed=True)
    for one in Memory.objects.within(world):
        row(DailyAccess, world, memory=one, day=NOW.date(), count=one.access_count + 1)
        row(SessionReturn, world, memory=one, user="maya", session="s", returned_at=NOW)
    Memory.objects.within(world).update(access_count=F("access_count") + 1)
    before = answered(world, as_of)
    twin = twin_of(world)
    assert {name: [one["id"] for one in answer["results"]] for name, answer in answered(twin, as_of).items()} == {
        name: [one["id"] for one in answer["results"]] for name, answer in before.items()
    }
    there = Memory.objects.within(twin)
    there.update(content="elsewhere", confidence=0.99, belief=9.0, access_count=999, type="Event", length=1)
    there.filter(level="fact").update(status="archived")
    Entity.objects.within(twin).update(kind="place", name="Priya", normalised=F("id"))
    EntityEdge.objects.within(twin).update(confidence=1.0, created_at=NOW - timedelta(days=999))
    MemoryVector.objects.within(twin).update(vector=np.eye(1, 384)[0].tolist(), active=False)
    MemoryTag.objects.within(twin).update(tag=Concat(Value("other "), F("tag")))
    DailyAccess.objects.within(twin).update(count=99, day=NOW.date() - timedelta(days=1))
    TermStatistic.objects.within(twin).update(documents=50)
    NamespaceStatistics.objects.filter(namespace=twin).update(documents=5_000)
    for model in (Posting, Mention, TokenStates, SessionReturn):
        model.objects.within(twin).delete()
    first, second = Memory.objects.within(twin).order_by("id")[:2]
    row(MemoryEdge, twin, source=second, target=first, kind="contradiction", created_at=NOW)
    assert answered(world, as_of) == before
    came = [one for answer in answered(twin, as_of).values() for one in answer["results"]]
    assert all(one["content"] == "elsewhere" for one in came)


def test_two_worlds_of_the_same_texts_answer_from_themselves(world: Namespace) -> None:
    twin = told("twin")
    for name in ("recall", "blend", "memsense"):
        here, there = (retrieve(asking(namespace, EVERYTHING, name)) for namespace in (world, twin))
        texts = [{row["content"] for row in one.batch.rows} for one in (here, there)]
        assert texts[0] == texts[1]
        assert {row["id"] for row in here.batch.rows}.isdisjoint(row["id"] for row in there.batch.rows)
        for one, namespace in ((here, world), (there, twin)):
            ids = {row["id"] for row in one.batch.rows}
            assert Memory.objects.within(namespace).filter(id__in=ids).count() == len(ids)


# A table of the product in a statement, and the name it goes by there.
TABLE = re.compile(r'\b(?:FROM|JOIN|UPDATE|INTO|USING|,)\s+"?(memories_\w+)\b(?!"?\.)"?(?:\s+(?:AS\s+)?"?(\w+)"?)?')
NO_NAMES = {"where", "on", "set", "select", "order", "join", "left", "inner", "group", "limit", "cross", "union"}


def without_namespace(sql: str) -> list[str]:
    """Name the tables that a statement touches without saying in which namespace, in raw SQL as in the ORM's."""
    missing = []
    for match in TABLE.finditer(sql):
        into, table, alias = match.group(0).startswith("INTO"), *match.groups()
        if table == "memories_namespace":
            continue
        name = alias if alias and alias.lower() not in NO_NAMES else None
        column = rf'"?\b{name or table}"?\."?namespace_id"?' + ("" if name else r'|(?<![.\w])"?namespace_id"?')
        # Compared with a value, or with a table that is compared itself.
        carried = r'\([^)]*\b"?namespace_id\b' if into else rf"(?:{column})\s*=|=\s*(?:{column})"
        if not re.search(carried, sql[match.start() :]):
            missing.append(name or table)
    return missing


@pytest.mark.parametrize("sql", ["SELECT 1 FROM memories_memory m WHERE m.id = 1", "SELECT 1 FROM memories_posting"])
def test_raw_sql_without_its_namespace_is_noticed(sql: str) -> None:
    assert without_namespace(sql)


@pytest.mark.parametrize("as_of", [None, NOW], ids=["today", "as of now"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_statement_of_a_retrieval_names_the_namespace_of_every_table(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, system: str, as_of: datetime | None
) -> None:
    gone = memory(world, "Maya prefers")
    archive(world, gone)
    filters = Filters(types=("Fact", "Event"), tags=("database", "review", "backup"), users=("",))
    seen = []
    for large in (False, True):
        monkeypatch.setattr(retrieving, "SCAN_BELOW", 1 if large else 20_000)
        for narrowed in (Filters(), filters):
            query = asking(world, EVERYTHING, system, user="maya", session="s", as_of=as_of, filters=narrowed)
            with CaptureQueriesContext(connection) as queries:
                retrieval = retrieve(query)
                answer = tell(retrieval)
                tracing.write(retrieval, answer, key=None)
                accessing.record(query, ids_of(answer["results"]))
            seen += [query["sql"] for query in queries if "memories_" in query["sql"]]
    assert len(seen) > 30
    assert {sql: missing for sql in seen if (missing := without_namespace(sql))} == {}
    assert [sql for sql in seen if str(world.id) not in sql and world.id.hex not in sql] == []


def archive(namespace: Namespace, one: Memory) -> None:
    """Take a memory out of sight, with an event that says so after the moment asked about."""
    Memory.objects.within(namespace).filter(id=one.id).update(status="archived")
    visibility.hide(namespace, [one.id])
    later = NOW + timedelta(hours=1)
    ScoreEvent(namespace=namespace, memory_id=one.id, at=later, cause="archived", after={"status": "archived"}).save()
