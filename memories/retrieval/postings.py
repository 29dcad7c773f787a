"""Postings of words, kept as arrays for as long as nobody writes to them: to read them takes most of a search."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.db.id_arrays import ID, Halves, Ids, pair_halves
from memories.db.lru_cache import LRUCache
from memories.db.pipeline import Statement
from memories.retrieval.query_terms import VERSION
from memories.retrieval.time_limits import fetch_within_limit
from scoring.term import Array, Codes, Mask

TermShare = Callable[
    [NDArray[Any], NDArray[Any]], Array
]  # of a word, by how often a memory holds it and how long that is

CACHE_BYTES = 64 * 2**20  # bytes, in each process
WORD_SIZE, POSTING_SIZE = 500, 24  # bytes that a word takes, and each of its postings
MAX_POSTINGS = 20_000  # postings of a common word
OF_WORDS = "FROM memories_termstatistic known WHERE known.namespace_id = %(namespace)s AND known.term = ANY(%(terms)s)"
VERSIONS = f"SELECT known.term, {VERSION}, known.documents {OF_WORDS}"
OF_NAMESPACE = """
    SELECT p.memory_id, p.term, p.frequency, p.length FROM memories_posting p
    WHERE p.namespace_id = %(namespace)s AND
"""
OF_WORD = "p.term = asked.term AND p.level = ANY(%(levels)s)"
POSTINGS = f"""
    SELECT asked.term, array_agg(p.memory_id), array_agg(p.frequency), array_agg(p.length)
    FROM unnest(%(unknown)s::text[]) AS asked(term) CROSS JOIN LATERAL ({OF_NAMESPACE} {OF_WORD}) p GROUP BY asked.term
"""


class PostingKey(NamedTuple):
    """What postings are kept by."""

    namespace: UUID
    levels: tuple[str, ...]
    term: str


@dataclass(frozen=True, eq=False)
class Postings:
    """The memories that hold a word, by the second halves of their ids; how often each does, how long each is."""

    heads: Halves
    tails: Halves
    frequency: NDArray[np.int32]
    length: NDArray[np.int32]

    @classmethod
    def of(cls, ids: Ids, frequency: NDArray[np.int32], length: NDArray[np.int32]) -> "Postings":
        """In the order in which they are counted and looked up."""
        order = np.lexsort((ids["head"], ids["tail"]))
        return cls(ids["head"][order], ids["tail"][order], frequency[order], length[order])

    def __len__(self) -> int:
        return len(self.tails)

    @cached_property
    def distinct(self) -> bool:
        """Whether the second halves tell the ids apart; made by chance they do."""
        return bool((self.tails[1:] != self.tails[:-1]).all())

    @property
    def size(self) -> int:
        """In bytes."""
        return WORD_SIZE + sum(one.nbytes for one in (self.heads, self.tails, self.frequency, self.length))


@dataclass(frozen=True, eq=False)
class PartialScores:
    """Memories, each once, with the sum of what some words tell of them."""

    heads: Halves
    tails: Halves
    units: Array

    def __len__(self) -> int:
        return len(self.units)

    def select(self, chosen: Mask | Codes) -> "PartialScores":
        """Some of them."""
        return PartialScores(self.heads[chosen], self.tails[chosen], self.units[chosen])

    def top(self, count: int) -> "PartialScores":
        """The best, the lower id first; all if there are fewer."""
        some = self.top_with_ties(count)
        return some.select(np.lexsort((some.tails, some.heads, -some.units))[:count])

    def top_with_ties(self, count: int) -> "PartialScores":
        """The best, and whoever is as good as the last of them."""
        if len(self) <= count:
            return self
        return self.select(self.units >= np.partition(self.units, -count)[-count])

    @property
    def ids(self) -> Ids:
        """Who they are."""
        return pair_halves(self.heads, self.tails)


POSTINGS_CACHE = LRUCache[PostingKey, Postings](CACHE_BYTES)


def cached_postings(namespace: UUID, levels: Sequence[str], versions: Mapping[str, str]) -> dict[str, Postings] | None:
    """The postings of words of these versions; none where those of one of them are not kept."""
    known = {}
    for term, version in versions.items():
        kept, known[term] = POSTINGS_CACHE.get(PostingKey(namespace, tuple(levels), term)) or ("", NO_POSTINGS)
        if kept != version:
            return None
    return known


def load_postings(
    namespace: UUID, levels: Sequence[str], finding: Sequence[str], common: Sequence[str]
) -> dict[str, Postings] | None:
    """The postings of words at the moment of the transaction; none where the database does not tell in time.

    Those of a common word take long to read: it must be asked for twice, not be written to in between, and find room.
    Did others go for it, words that are asked for in turn would be read again each time.
    """
    words = {term: PostingKey(namespace, tuple(levels), term) for term in (*finding, *common)}
    kept = {term: found for term, word in words.items() if (found := POSTINGS_CACHE.get(word))}
    values = {"namespace": namespace, "levels": list(levels), "terms": list(words)}
    unknown = [term for term in finding if term not in kept]
    told = fetch_within_limit(Statement(VERSIONS, values), *posting_statements(unknown, values))
    if told is None:
        return None
    versions = {term: version for term, version, _ in told[0]}
    few = {
        term
        for term, _, documents in told[0]
        if documents <= min(MAX_POSTINGS, POSTINGS_CACHE.free_bytes // POSTING_SIZE)
    }
    known = {term: postings for term, (version, postings) in kept.items() if version == versions.get(term, "")}
    missing = [term for term in finding if term in kept and term not in known]
    missing += [
        term
        for term in common
        if term in few - known.keys() and POSTINGS_CACHE.seen_before(words[term], versions[term])
    ]
    again = fetch_within_limit(*posting_statements(missing, values)) if missing else []
    if again is None:
        return None
    stored = {term: Postings.of(*arrays) for rows in (*told[1:], *again) for term, *arrays in rows}
    for term in (*unknown, *missing):
        known[term] = stored.get(term, NO_POSTINGS)
        POSTINGS_CACHE.put(words[term], versions.get(term, ""), known[term])
    return known


def posting_statements(terms: Sequence[str], values: Mapping[str, object]) -> list[Statement]:
    """The question for the postings of words, where there are any."""
    return [Statement(POSTINGS, {**values, "unknown": list(terms)})] if terms else []


NO_POSTINGS = Postings.of(np.empty(0, ID), np.empty(0, np.int32), np.empty(0, np.int32))


def sum_postings(postings: Sequence[Postings], units: Sequence[float], share: TermShare) -> PartialScores:
    """What the words tell of each memory that holds one of them, in whole units."""
    heads, tails, frequency, length = (
        np.concatenate([getattr(one, name) for one in postings]) for name in ("heads", "tails", "frequency", "length")
    )
    shares = np.rint(np.repeat(units, [len(one) for one in postings]) * share(frequency, length))
    order = np.argsort(tails, kind="stable")
    heads, tails = heads[order], tails[order]
    same = tails[1:] == tails[:-1]
    if (heads[1:] != heads[:-1])[same].any():  # by chance no two ids share their second half
        within = np.lexsort((heads, tails))
        order, heads, tails = order[within], heads[within], tails[within]
        same = (tails[1:] == tails[:-1]) & (heads[1:] == heads[:-1])
    first = np.flatnonzero(np.append(True, ~same)[: len(tails)])
    return PartialScores(heads[first], tails[first], np.add.reduceat(shares[order], first))


def add_postings(
    found: PartialScores, postings: Sequence[Postings], units: Sequence[float], share: TermShare
) -> PartialScores:
    """What was found, with what more words tell of it; no word holds two ids that share their second half."""
    whole = found.units.copy()
    for word, unit in zip(postings, units, strict=True):
        place = np.searchsorted(word.tails, found.tails)
        place[place == len(word)] = 0
        holds = np.flatnonzero((word.tails[place] == found.tails) & (word.heads[place] == found.heads))
        whole[holds] += np.rint(unit * share(word.frequency[place[holds]], word.length[place[holds]]))
    return PartialScores(found.heads, found.tails, whole)
