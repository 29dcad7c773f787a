"""Which memories a person looks at: filters that stand in the address, and the memories that match them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from rest_framework.exceptions import ValidationError

from memories.api.memories import memories_with_tags
from memories.api.retrieval import MAX_QUERY_CHARS
from memories.db.snapshot import snapshot
from memories.models import Memory, MemoryTag, Mention, Namespace, Posting
from memories.models.choices import STATEMENTS, MemoryType, Status
from memories.models.keys import NamespacedQuerySet
from memories.models.memory import UNCERTAIN
from memories.retrieval.config import resolve_config
from memories.retrieval.fetch import fetch
from memories.retrieval.parse import understand
from memories.retrieval.query import Filters, Query
from memories.retrieval.query_terms import load_query_terms
from memories.retrieval.retrieve import retriever_queries
from memories.retrieval.scope import CandidateScope
from memories.web.fields import Identifier, OneOf, Text
from memories.web.pagination import PageQuery
from memories.web.serializers import valid_values
from memories.writing.write_policy import current_write_policy
from scoring.specificity import Plan
from scoring.systems.recall import ConfidenceGateParams

NEAREST = 100  # memories that a search by meaning shows
MEANING = Plan(name="meaning", retrievers=("semantic",))
AGES = {"week": 7, "month": 30, "quarter": 90, "year": 365, "older": None}  # days at the most
SURENESS = ("sure", "fair", "unsure")


class BrowseQuery(PageQuery):
    """What stands in the address of the list."""

    q = Text(max_length=MAX_QUERY_CHARS, required=False)
    by = OneOf(choices=["words", "meaning"], default="words")
    status = OneOf(choices=Status.values, default=Status.ACTIVE)
    type = OneOf(choices=MemoryType.values, required=False)
    confidence = OneOf(choices=SURENESS, required=False)
    age = OneOf(choices=list(AGES), required=False)
    tag = Text(max_length=100, required=False)
    entity = Identifier(required=False)
    session = Identifier(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse what cannot be searched: words and vectors of what was set aside are out of the indexes."""
        if "q" in attrs and attrs["status"] != Status.ACTIVE:
            raise ValidationError({"status": [f"must be active where something is searched; got {attrs['status']}"]})
        return attrs


FILTERS = ("type", "confidence", "age", "tag", "entity", "session")


@dataclass(frozen=True)
class Bands:
    """A column cut into named bands, the highest first; each begins at its least value."""

    column: str
    least: Mapping[str, Any]

    def holds(self, name: str) -> Q:
        """The rows of one band."""
        names = list(self.least)
        place = names.index(name)
        above = Q(**{f"{self.column}__lt": self.least[names[place - 1]]}) if place else Q()
        low = self.least[name]
        return above if low is None else above & Q(**{f"{self.column}__gte": low})

    @property
    def case(self) -> tuple[str, list[Any]]:
        """The band of a row, in SQL."""
        bounded = [(name, low) for name, low in self.least.items() if low is not None]
        whens = " ".join(f"WHEN {self.column} >= %s THEN %s" for _ in bounded)
        last = list(self.least)[-1]
        return f"CASE {whens} ELSE %s END", [value for name, low in bounded for value in (low, name)] + [last]


def bands_of(namespace: Namespace, now: datetime) -> dict[str, Bands]:
    """Confidence as the namespace's own thresholds part it, and age as a person speaks of it."""
    sure, fair = current_write_policy(namespace).high_confidence, ConfidenceGateParams().min_confidence
    ages = {name: None if days is None else now - timedelta(days=days) for name, days in AGES.items()}
    return {
        "confidence": Bands("confidence", dict(zip(SURENESS, (sure, fair, None), strict=True))),
        "age": Bands("created_at", ages),
    }


@dataclass(frozen=True)
class Browsing:
    """What is looked for, and the conditions it comes down to, each by its name so that one can be left out."""

    namespace: Namespace
    query: Mapping[str, Any]
    bands: Mapping[str, Bands]
    conditions: Mapping[str, Q]
    cosines: Mapping[UUID, float] | None = None  # of a search by meaning
    missing: Sequence[str] = field(default_factory=list)  # words that no memory holds
    late: str = ""  # why a search by meaning was left out

    def rows(self, without: str = "") -> NamespacedQuerySet[Memory]:
        """The memories that match, perhaps without one of the conditions."""
        stated = memories_with_tags(self.namespace).filter(level__in=STATEMENTS)
        return stated.filter(*(one for name, one in self.conditions.items() if name != without))

    def nearest(self) -> list[Memory]:
        """What a search by meaning found, the nearest first."""
        assert self.cosines is not None
        found = sorted(self.rows(), key=lambda memory: (-self.cosines[memory.id], memory.id))  # type: ignore[index]
        for memory in found:
            memory.cosine = self.cosines[memory.id]  # type: ignore[attr-defined]
        return found


def browsing(namespace: Namespace, given: Mapping[str, str]) -> Browsing:
    """Read an address; what it must not say is refused (ValidationError). An empty field of a form says nothing."""
    query = valid_values(BrowseQuery(data={name: value for name, value in given.items() if value.strip()}))
    bands = bands_of(namespace, namespace.now)
    conditions = {"status": Q(status=query["status"])}
    conditions |= {name: condition(namespace, name, query[name], bands) for name in FILTERS if name in query}
    if "q" not in query:
        return Browsing(namespace, query, bands, conditions)
    if query["by"] == "meaning":
        cosines, late = by_meaning(namespace, query)
        near = Q(id__in=list(cosines))
        return Browsing(namespace, query, bands, {**conditions, "q": near}, cosines, late=late)
    holds, missing = by_words(namespace, query["q"])
    return Browsing(namespace, query, bands, {**conditions, "q": holds}, missing=missing)


def condition(namespace: Namespace, name: str, value: Any, bands: Mapping[str, Bands]) -> Q:
    """One filter."""
    if name in bands:
        return bands[name].holds(value)
    if name == "tag":
        tagged = MemoryTag.objects.within(namespace).filter(tag=value)
        return Q(type_uncertain=True) if value == UNCERTAIN else Q(id__in=tagged.values("memory_id"))
    if name == "entity":
        return Q(id__in=Mention.objects.within(namespace).filter(entity_id=value).values("memory_id"))
    return Q(**{"session_id" if name == "session" else name: value})


def by_words(namespace: Namespace, text: str) -> tuple[Q, list[str]]:
    """The memories that hold every word, and the words that none holds; stop words ask for nothing."""
    words, _ = load_query_terms(namespace, text)
    missing = [term for term, count in words.document_frequencies.items() if not count]
    postings = Posting.objects.within(namespace).filter(memory_id=OuterRef("id"))
    holds = Q() if words.document_frequencies else Q(id__in=[])
    for term in words.document_frequencies:
        holds &= Q(Exists(postings.filter(term=term)))
    return holds, missing


def by_meaning(namespace: Namespace, query: Mapping[str, Any]) -> tuple[Mapping[UUID, float], str]:
    """The memories nearest to a text with their cosines, or why it was left out; nothing is recorded."""
    # Type and tag narrow the search itself, the other filters what it found.
    filters = Filters(types=tuple_of(query, "type"), tags=tuple_of(query, "tag"))
    by = resolve_config(namespace, system="recall", params={})
    asked = Query(namespace=namespace, text=query["q"], config=by, filters=filters)
    reading = understand(asked)
    with snapshot():
        put = retriever_queries(
            asked, reading, CandidateScope.for_query(asked), MEANING, by.params_under(MEANING), NEAREST
        )
        found = fetch(put)
    return found.lists.get("semantic", {}), found.timed_out.get("semantic", "")


def tuple_of(query: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A filter as retrieval takes it."""
    return (query[name],) if name in query and query[name] != UNCERTAIN else ()
