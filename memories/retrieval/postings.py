"""Postings of words, kept as arrays for as long as nobody writes to them: to read them takes most of a search."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.journey import Statement
from memories.retrieval.limits import in_time
from memories.wire import ID, Ids
from scoring.term import Array

Share = Callable[[Array, Array], Array]  # of a word, by how often a memory holds it and how long that is

MOST_KEPT = 64 * 2**20  # bytes, in each process
WORD_SIZE = 500  # bytes that a word takes besides
# Whoever changes the postings of a word changes its statistics too: who wrote those last, and where, tells them apart.
VERSIONS = """
    SELECT term, documents, xmin::text || ctid::text FROM memories_termstatistic
    WHERE namespace_id = %(namespace)s AND term = ANY(%(terms)s)
"""
POSTINGS = """
    SELECT asked.term, array_agg(p.memory_id), array_agg(p.frequency), array_agg(p.length)
    FROM unnest(%(unknown)s::text[]) AS asked(term) CROSS JOIN LATERAL (
        SELECT p.memory_id, p.frequency, p.length FROM memories_posting p
        WHERE p.namespace_id = %(namespace)s AND p.term = asked.term AND p.level = ANY(%(levels)s)
    ) p GROUP BY asked.term
"""


class Word(NamedTuple):
    """What postings are kept by."""

    namespace: UUID
    levels: tuple[str, ...]
    term: str


@dataclass(frozen=True, eq=False)
class Postings:
    """The memories that hold a word, how often each does, and how long each is."""

    ids: Ids
    frequency: NDArray[np.int32]
    length: NDArray[np.int32]

    @property
    def size(self) -> int:
        """In bytes."""
        return WORD_SIZE + self.ids.nbytes + self.frequency.nbytes + self.length.nbytes


@dataclass(frozen=True, eq=False)
class Counted:
    """Memories, each once, with the sum of what some words tell of them."""

    ids: Ids
    units: Array

    def best(self, count: int) -> "Counted":
        """The best, the lower id first; all if there are fewer."""
        some = self.with_equals(count)
        order = np.lexsort((some.ids["tail"], some.ids["head"], -some.units))[:count]
        return Counted(some.ids[order], some.units[order])

    def with_equals(self, count: int) -> "Counted":
        """The best, and whoever is as good as the last of them."""
        if len(self.units) <= count:
            return self
        there = self.units >= np.partition(self.units, -count)[-count]
        return Counted(self.ids[there], self.units[there])


class Kept:
    """The postings that this process keeps; those asked for longest ago go first."""

    def __init__(self) -> None:
        self.known: OrderedDict[Word, tuple[str, Postings]] = OrderedDict()
        self.size, self.lock = 0, Lock()

    def of(self, word: Word) -> tuple[str, Postings] | None:
        """What is kept of a word, and of which version it is."""
        with self.lock:
            if word in self.known:
                self.known.move_to_end(word)
            return self.known.get(word)

    def keep(self, word: Word, version: str, postings: Postings) -> None:
        """Keep a word's postings, and let go of others where they become too many."""
        with self.lock:
            if word in self.known:
                self.size -= self.known.pop(word)[1].size
            self.known[word] = version, postings
            self.size += postings.size
            while self.size > MOST_KEPT:
                self.size -= self.known.popitem(last=False)[1][1].size


KEPT = Kept()


def postings_of(namespace: UUID, levels: Sequence[str], terms: Sequence[str]) -> list[Postings] | None:
    """The postings of words at the moment of the transaction; none where the database does not tell in time."""
    words = {term: Word(namespace, tuple(levels), term) for term in terms}
    kept = {term: found for term, word in words.items() if (found := KEPT.of(word))}
    values = {"namespace": namespace, "levels": list(levels), "terms": list(terms)}
    unknown = [term for term in terms if term not in kept]
    told = in_time(Statement(VERSIONS, values), *read(unknown, values))
    if told is None:
        return None
    versions = {term: f"{documents} {version}" for term, documents, version in told[0]}
    changed = [term for term, (version, _) in kept.items() if version != versions.get(term, "")]
    again = in_time(*read(changed, values)) if changed else []
    if again is None:
        return None
    stored = {term: Postings(*arrays) for rows in (*told[1:], *again) for term, *arrays in rows}
    for term in (*unknown, *changed):
        kept[term] = versions.get(term, ""), stored.get(term, NOWHERE)
        KEPT.keep(words[term], *kept[term])
    return [kept[term][1] for term in terms]


def read(terms: Sequence[str], values: Mapping[str, object]) -> list[Statement]:
    """The question for the postings of words, where there are any."""
    return [Statement(POSTINGS, {**values, "unknown": list(terms)})] if terms else []


NOWHERE = Postings(np.empty(0, ID), np.empty(0, np.int32), np.empty(0, np.int32))


def counted(postings: Sequence[Postings], units: Array | Sequence[float], share: Share) -> Counted:
    """What the words tell of each memory that holds one of them, in whole units."""
    ids = np.concatenate([one.ids for one in postings])
    order = np.argsort(ids["tail"])
    heads, tails = ids["head"][order], ids["tail"][order]
    again = tails[1:] == tails[:-1]
    if (heads[1:] != heads[:-1])[again].any():  # by chance no two ids share their second half
        order = np.lexsort((ids["head"], ids["tail"]))
        again = ids[order[1:]] == ids[order[:-1]]
    first = np.flatnonzero(np.append(True, ~again)[: len(ids)])
    shares = np.rint(
        np.repeat(units, [len(one.ids) for one in postings])
        * share(*(np.concatenate([getattr(one, name) for one in postings]) for name in ("frequency", "length")))
    )
    return Counted(ids[order[first]], np.add.reduceat(shares[order], first))


def literal(ids: Ids) -> str:
    """Ids as one array, as the database reads it."""
    written = np.stack([ids["head"], ids["tail"]], axis=1).astype(">u8").tobytes().hex()
    return "{" + ",".join(written[place : place + 32] for place in range(0, len(written), 32)) + "}"
