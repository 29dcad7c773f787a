"""Filters and search of the memory list: parsed from the query string, applied to a queryset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from rest_framework.exceptions import ValidationError

from memories.contracts.text_limits import MAX_QUERY_CHARS
from memories.db.pipeline import snapshot
from memories.models import Document, Memory, MemoryTag, Mention, Namespace
from memories.models.choices import STATEMENTS, MemoryType, Status
from memories.models.keys import NamespacedQuerySet
from memories.models.memory import UNCERTAIN
from memories.retrieval.config import resolve_config
from memories.retrieval.fetch import fetch
from memories.retrieval.parse import understand
from memories.retrieval.postings import documents_with_all
from memories.retrieval.query import Filters, Query
from memories.retrieval.query_terms import load_query_terms
from memories.retrieval.retrieve import database_settings, retriever_context, retriever_statements
from memories.web.fields import Identifier, OneOf, Text
from memories.web.memory_filters import memories_with_tags
from memories.web.pagination import PageQuery
from memories.web.serializers import valid_values
from memories.writing.write_policy import current_write_policy
from scoring.specificity import Plan
from scoring.systems.recall import ConfidenceGateParams

MAX_NEAREST = 100  # results of a semantic search
SEMANTIC_PLAN = Plan(name="semantic", retrievers=("semantic",))
AGES = {"week": 7, "month": 30, "quarter": 90, "year": 365, "older": None}  # maximum days
CONFIDENCE_BANDS = ("sure", "fair", "unsure")
FILTERS = ("type", "confidence", "age", "tag", "entity", "session")


class MemoryListQuery(PageQuery):
    """Query parameters of the memory list."""

    q = Text(max_length=MAX_QUERY_CHARS, required=False)
    by = OneOf(choices=["words", "semantic"], default="words")
    status = OneOf(choices=Status.values, default=Status.ACTIVE)
    type = OneOf(choices=MemoryType.values, required=False)
    confidence = OneOf(choices=CONFIDENCE_BANDS, required=False)
    age = OneOf(choices=list(AGES), required=False)
    tag = Text(max_length=100, required=False)
    entity = Identifier(required=False)
    session = Identifier(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject a search of inactive memories: they are not in the indexes."""
        if "q" in attrs and attrs["status"] != Status.ACTIVE:
            raise ValidationError({"status": [f"must be active for a search; got {attrs['status']}"]})
        return attrs


@dataclass(frozen=True)
class ColumnBands:
    """Named bands of a column, highest first, each with its lower bound."""

    column: str
    lower_bounds: Mapping[str, Any]

    def condition(self, name: str) -> Q:
        """The rows of one band."""
        names = list(self.lower_bounds)
        index = names.index(name)
        below_next = Q(**{f"{self.column}__lt": self.lower_bounds[names[index - 1]]}) if index else Q()
        low = self.lower_bounds[name]
        return below_next if low is None else below_next & Q(**{f"{self.column}__gte": low})

    @property
    def sql_case(self) -> tuple[str, list[Any]]:
        """The band of a row as an SQL expression with its values."""
        bounded = [(name, low) for name, low in self.lower_bounds.items() if low is not None]
        whens = " ".join(f"WHEN {self.column} >= %s THEN %s" for _ in bounded)
        last = list(self.lower_bounds)[-1]
        return f"CASE {whens} ELSE %s END", [value for name, low in bounded for value in (low, name)] + [last]


def load_bands(namespace: Namespace, now: datetime) -> dict[str, ColumnBands]:
    """Confidence bands by the namespace's thresholds, and age bands."""
    sure, fair = current_write_policy(namespace).high_confidence, ConfidenceGateParams().min_confidence
    ages = {name: None if days is None else now - timedelta(days=days) for name, days in AGES.items()}
    return {
        "confidence": ColumnBands("confidence", dict(zip(CONFIDENCE_BANDS, (sure, fair, None), strict=True))),
        "age": ColumnBands("created_at", ages),
    }


@dataclass(frozen=True)
class MemorySelection:
    """The selected memories: conditions by filter, so that a facet can leave its own out, and the search."""

    namespace: Namespace
    query: Mapping[str, Any]
    bands: Mapping[str, ColumnBands]
    conditions: Mapping[str, Q]
    cosines: Mapping[UUID, float] | None = None  # of a semantic search
    missing: Sequence[str] = field(default_factory=list)  # words that no memory contains
    timed_out: str = ""  # why the semantic search has no results

    @property
    def is_semantic(self) -> bool:
        """Whether it is a semantic search."""
        return self.cosines is not None

    def rows(self, without: str = "") -> NamespacedQuerySet[Memory]:
        """The matching memories, optionally without one of the conditions."""
        statements = memories_with_tags(self.namespace).filter(level__in=STATEMENTS)
        return statements.filter(*(condition for name, condition in self.conditions.items() if name != without))

    def nearest(self) -> list[Memory]:
        """The results of a semantic search, nearest first."""
        assert self.cosines is not None
        for memory in (rows := list(self.rows())):
            memory.cosine = self.cosines[memory.id]  # type: ignore[attr-defined]
        return sorted(rows, key=lambda memory: (-memory.cosine, memory.id))  # type: ignore[attr-defined]


def select_memories(namespace: Namespace, params: Mapping[str, str]) -> MemorySelection:
    """Parse the query string and run its search; empty fields are ignored. Raises ValidationError."""
    query = valid_values(MemoryListQuery(data={name: value for name, value in params.items() if value.strip()}))
    bands = load_bands(namespace, namespace.now)
    conditions = {"status": Q(status=query["status"])}
    conditions |= {name: filter_condition(namespace, name, query[name], bands) for name in FILTERS if name in query}
    if "q" not in query:
        return MemorySelection(namespace, query, bands, conditions)
    if query["by"] == "semantic":
        cosines, timed_out = search_semantic(namespace, query)
        nearest = Q(id__in=list(cosines))
        return MemorySelection(namespace, query, bands, {**conditions, "q": nearest}, cosines, timed_out=timed_out)
    contains_all, missing = search_words(namespace, query["q"])
    return MemorySelection(namespace, query, bands, {**conditions, "q": contains_all}, missing=missing)


def filter_condition(namespace: Namespace, name: str, value: Any, bands: Mapping[str, ColumnBands]) -> Q:
    """The condition of one filter."""
    if name in bands:
        return bands[name].condition(value)
    if name == "tag":
        tagged = MemoryTag.objects.within(namespace).filter(tag=value)
        return Q(type_uncertain=True) if value == UNCERTAIN else Q(id__in=tagged.values("memory_id"))
    if name == "entity":
        mentions = Mention.objects.within(namespace).filter(entity_id=value)
        return Q(id__in=mentions.values("memory_id"))
    return Q(**{"session_id" if name == "session" else name: value})


def search_words(namespace: Namespace, text: str) -> tuple[Q, list[str]]:
    """The memories that contain every word, and the words no memory contains; stop words are ignored."""
    frequencies = load_query_terms(namespace, text).document_frequencies
    missing = [term for term, count in frequencies.items() if not count]
    numbers = [] if missing else documents_with_all(namespace, list(frequencies))
    documents = Document.objects.within(namespace).filter(number__in=numbers)
    return Q(id__in=documents.values("memory_id")), missing


def search_semantic(namespace: Namespace, params: Mapping[str, Any]) -> tuple[Mapping[UUID, float], str]:
    """The nearest memories with their cosines, or why the retriever timed out; no trace is stored."""
    # Type and tag restrict the search itself, the other filters its results.
    filters = Filters(types=retrieval_filter(params, "type"), tags=retrieval_filter(params, "tag"))
    config = resolve_config(namespace, system="recall", params={})
    query = Query(namespace=namespace, text=params["q"], config=config, filters=filters)
    parsed = understand(query)
    with snapshot():
        context = retriever_context(query, parsed, config.params_under(SEMANTIC_PLAN), MAX_NEAREST)
        fetched = fetch(retriever_statements(context, SEMANTIC_PLAN.retrievers), database_settings(context))
    return fetched.lists.get("semantic", {}), fetched.timed_out.get("semantic", "")


def retrieval_filter(params: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A filter's value for retrieval."""
    return (params[name],) if name in params and params[name] != UNCERTAIN else ()
