"""A small world to query (people, systems, dates, tags, a conversation), and naive retrievers."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.db import connection, transaction

from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import Entity, Memory, MemoryVector, Mention, Namespace
from memories.models.choices import STATEMENTS, ChunkLevel, Route
from memories.retrieval.answer import build_answer
from memories.retrieval.config import resolve_config
from memories.retrieval.fetch import fetch
from memories.retrieval.parse import ParsedQuery, understand
from memories.retrieval.query import Filters, Query
from memories.retrieval.retrieve import Retrieval, database_settings, retriever_context
from memories.retrieval.retrievers import RETRIEVERS
from memories.retrieval.retrievers.context import RetrieverContext
from memories.writing.link import relate_entities
from memories.writing.remember import remember
from memories.writing.turns.conversation import Conversation, NewTurn
from memories.writing.turns.ingest import ingest
from scoring.bm25 import bm25
from scoring.specificity import Plan
from scoring.systems import SYSTEMS
from tests.support.rows import store_entity

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)

PEOPLE = {"Maya Lindqvist": ("Maya",), "Priya Raman": ("Priya",), "Jonas Ek": ("Jonas",)}
THINGS = {"Invoicing": "system", "PostgreSQL": "system", "Arrive": "organisation", "Lisbon": "place"}
EDGES = (
    ("Maya Lindqvist", "works at", "Arrive", 0.9),
    ("Arrive", "runs", "Invoicing", 0.8),
    ("Invoicing", "is built on", "PostgreSQL", 0.6),
    ("Priya Raman", "reports to", "Maya Lindqvist", 0.7),
)
# Content, type, subject, and whatever else is said of it; days count back from now.
MEMORIES: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("Invoicing stores its data in PostgreSQL 16", "Fact", "Invoicing", {"tags": ("database",), "days": 40}),
    ("The nightly backup of invoicing runs at two in the morning", "Fact", "Invoicing", {"tags": ("backup",)}),
    ("Maya prefers PostgreSQL for every new service", "Preference", "Maya", {"tags": ("database",), "days": 90}),
    ("Maya drinks her coffee black and early", "Preference", "Maya", {"tags": ("food",), "days": 10}),
    ("Priya reviews every change of a database schema", "Fact", "Priya", {"tags": ("database", "review")}),
    ("Priya reports to Maya since the summer", "Relation", "Priya", {"days": 200}),
    ("Jonas left Arrive for a bank in Oslo", "Event", "Jonas", {"event_at": NOW - timedelta(days=60), "days": 60}),
    ("The offsite in Lisbon agreed to retire MySQL", "Event", "Lisbon", {"event_at": NOW - timedelta(days=140)}),
    ("Lisbon was warm and the hotel stood on a hill", "Fact", "Lisbon", {"days": 139, "tags": ("travel",)}),
    ("Arrive counts forty people in three cities", "Fact", "Arrive", {"days": 300}),
    ("The kitchen at Arrive has a new oven", "Fact", "Arrive", {"level": "speculation", "days": 5}),
    ("Standup begins at half past nine", "Fact", "standup", {"days": 20, "tags": ("routine",)}),
    ("The cat of the neighbours is called Olle", "Fact", "", {"days": 15, "type_unsure": True}),
    ("Running shoes wear out after eight hundred kilometres", "Fact", "", {"days": 33, "user": "jonas"}),
    ("Alma is allergic to hazelnuts", "Fact", "Alma", {"days": 25, "user": "maya", "tags": ("health",)}),
    ("The parking permit holds until spring", "Fact", "", {"valid_from": NOW - timedelta(days=90), "left": 3}),
    ("The guest network used another password last year", "Fact", "", {"valid_from": NOW - timedelta(days=500)}),
    ("The new office opens in autumn", "Event", "Arrive", {"valid_from": NOW + timedelta(days=200)}),
)
TURNS = (
    ("user", "We should move the invoicing backup to a quieter hour."),
    ("assistant", "Two in the morning is when the load is lowest."),
    ("user", "Then two it is. And Priya must look at the schema first."),
    ("assistant", "I will remind Priya on Monday."),
)


def store_world(slug: str) -> Namespace:
    """Tell the world into a namespace of its own."""
    namespace = Namespace.objects.create(slug=slug, title="Asked", clock=NOW)
    entities = {name: add_entity(namespace, name, "person", aliases) for name, aliases in PEOPLE.items()}
    entities |= {name: add_entity(namespace, name, kind) for name, kind in THINGS.items()}
    for source, predicate, target, confidence in EDGES:
        relate_entities(namespace, entities[source], predicate, entities[target], confidence)
    remember(namespace, [new_memory(*one) for one in MEMORIES], by="tests")
    turns = [NewTurn(role=role, text=text, said_at=NOW - timedelta(days=7)) for role, text in TURNS]
    ingest(namespace, Conversation(session="backup", turns=turns, user="maya"), by="tests")
    Memory.objects.within(namespace).filter(content__startswith="Maya prefers").update(access_count=4)
    return namespace


def add_entity(namespace: Namespace, name: str, kind: str, aliases: tuple[str, ...] = ()) -> Entity:
    """Make an entity with its other names."""
    return store_entity(namespace, name, kind, *aliases, created_at=NOW)


def new_memory(content: str, type: str, subject: str, more: dict[str, Any]) -> NewMemory:
    """A memory as a caller would tell it."""
    given = dict(more)
    at = NOW - timedelta(days=given.pop("days", 30))
    if (left := given.pop("left", None)) is not None:
        given["valid_until"] = NOW + timedelta(days=left)
    unsure = given.pop("type_unsure", False)
    said = (Utterance(given.pop("level", "direct")),)
    return NewMemory(
        content=content,
        type="" if unsure else type,
        subject=subject,
        utterances=said,
        created_at=at,
        happened_at=at,
        **given,
    )


def make_query(namespace: Namespace, text: str, system: str = "recall", **more: Any) -> Query:
    """A query under a system's defaults, or with parameters on top."""
    params, filters = more.pop("params", {}), more.pop("filters", Filters())
    by = resolve_config(namespace, system=system, params=params)
    return Query(namespace=namespace, text=text, config=by, filters=filters, **more)


def memory(namespace: Namespace, beginning: str) -> Memory:
    """The one active statement that begins so."""
    return Memory.objects.within(namespace).get(content__startswith=beginning, status="active", level="fact")


# What the retrievers give, and a naive computation of it

ALL_LEVELS = tuple(ChunkLevel.values)
EVERYTHING = "What did Maya and Priya say about the invoicing backup and the database schema last month?"
# By which system a route is asked.
SYSTEM_OF_RETRIEVER = {route: name for name in ("memsense", "blend", "recall") for route in SYSTEMS[name].retrievers}

ScoredIds = list[tuple[UUID, float]]


def context_of(query: Query, *, pool: int = 500, reading: ParsedQuery | None = None) -> RetrieverContext:
    """What the retrievers of a query share, whatever its plan."""
    plan = Plan("all", retrievers=query.config.system.retrievers)
    return retriever_context(query, reading or understand(query), query.config.params_under(plan), pool)


def run_retriever(query: Query, route: str, *, pool: int = 500, reading: ParsedQuery | None = None) -> ScoredIds:
    """What one retriever gives for a query, in its order."""
    context = context_of(query, pool=pool, reading=reading)
    with transaction.atomic():
        answer = fetch({route: RETRIEVERS[route](context)}, database_settings(context))
    assert answer.timed_out == {}
    return list(answer.lists[route].items())


def assert_same_list(given: ScoredIds, expected: ScoredIds, *, within: float = 1e-6) -> None:
    """Hold two lists against each other: the same memories in the same order with the same scores."""
    assert [id for id, _ in given] == [id for id, _ in expected]
    assert [score for _, score in given] == pytest.approx([score for _, score in expected], abs=within)


def searchable_memories(namespace: Namespace, levels: Sequence[str] = STATEMENTS) -> list[Memory]:
    """The memories that can be found."""
    return [one for one in Memory.objects.within(namespace) if one.status == "active" and one.level in levels]


def cosines(namespace: Namespace, reading: ParsedQuery, route: str = Route.FULL) -> dict[UUID, float]:
    """The cosine of every memory's vector of a route to the query's, one by one."""
    near = {}
    for one in MemoryVector.objects.within(namespace).filter(route=route, embedder=namespace.embedder):
        vector = np.asarray(one.vector, dtype=float)
        near[one.memory_id] = float(vector @ reading.vector / np.linalg.norm(vector) / np.linalg.norm(reading.vector))
    return near


def sort_scores(scores: Mapping[UUID, float], near: Mapping[UUID, float]) -> ScoredIds:
    """Falling score; equal ones by cosine, those without a vector last, then by id."""
    return sorted(scores.items(), key=lambda one: (-one[1], -near.get(one[0], -math.inf), one[0]))


def lexemes(text: str) -> dict[str, int]:
    """The words of a text as Postgres cuts them, and how often each occurs."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT lexeme, cardinality(positions) FROM unnest(to_tsvector('english', %s))", [text])
        return dict(cursor.fetchall())


def bm25_scores(namespace: Namespace, query: str, k1: float = 1.2, b: float = 0.75) -> dict[UUID, float]:
    """BM25 by a loop over the words of all active memories, and by the formula over a matrix: both must agree."""
    texts = {one.id: lexemes(one.content) for one in searchable_memories(namespace, ALL_LEVELS)}
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


def is_certain(one: Memory) -> bool:
    """Whether its subject and type were told for sure."""
    return not one.type_uncertain and one.subject_fallback is None


def entity_scores(namespace: Namespace, worth: Mapping[UUID, float], mention: float = 0.6) -> dict[UUID, float]:
    """What entities are worth to the memories that are about them or mention them: the best of all ways."""
    scores: dict[UUID, float] = {}
    for one in searchable_memories(namespace):
        mentioned = Mention.objects.within(namespace).filter(memory=one).values_list("entity_id", flat=True)
        ways = [worth.get(one.subject_id, 0.0)] if one.subject_id else []
        ways += [mention * worth.get(entity, 0.0) for entity in mentioned]
        if max(ways, default=0.0) > 0:
            scores[one.id] = max(ways)
    return scores


def entity_id(namespace: Namespace, name: str) -> UUID:
    """The id of an entity."""
    return Entity.objects.within(namespace).get(name=name).id


def answer_to_dict(retrieval: Retrieval, **options: Any) -> dict[str, Any]:
    """The answer of a retrieval as JSON-ready values."""
    return build_answer(retrieval, **options).to_dict()
