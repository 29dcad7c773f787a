"""Postings of words, kept as arrays for as long as nobody writes to them: to read them takes most of a search."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.id_arrays import ID, Halves, Ids, paired
from memories.journey import Statement
from memories.retrieval.kept import Kept
from memories.retrieval.limits import in_time
from memories.retrieval.words import VERSION
from scoring.term import Array, Codes, Mask

Share = Callable[[NDArray[Any], NDArray[Any]], Array]  # of a word, by how often a memory holds it and how long that is

MOST_KEPT = 64 * 2**20  # bytes, in each process
WORD_SIZE, POSTING_SIZE = 500, 24  # bytes that a word takes, and each of its postings
MOST_READ = 20_000  # postings of a common word
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


class Word(NamedTuple):
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
class Counted:
    """Memories, each once, with the sum of what some words tell of them."""

    heads: Halves
    tails: Halves
    units: Array

    def __len__(self) -> int:
        return len(self.units)

    def among(self, chosen: Mask | Codes) -> "Counted":
        """Some of them."""
        return Counted(self.heads[chosen], self.tails[chosen], self.units[chosen])

    def best(self, count: int) -> "Counted":
        """The best, the lower id first; all if there are fewer."""
        some = self.with_equals(count)
        return some.among(np.lexsort((some.tails, some.heads, -some.units))[:count])

    def with_equals(self, count: int) -> "Counted":
        """The best, and whoever is as good as the last of them."""
        if len(self) <= count:
            return self
        return self.among(self.units >= np.partition(self.units, -count)[-count])

    @property
    def ids(self) -> Ids:
        """Who they are."""
        return paired(self.heads, self.tails)


KEPT = Kept[Word, Postings](MOST_KEPT)


def kept_as(namespace: UUID, levels: Sequence[str], versions: Mapping[str, str]) -> dict[str, Postings] | None:
    """The postings of words of these versions; none where those of one of them are not kept."""
    known = {}
    for term, version in versions.items():
        kept, known[term] = KEPT.of(Word(namespace, tuple(levels), term)) or ("", NOWHERE)
        if kept != version:
            return None
    return known


def postings_of(
    namespace: UUID, levels: Sequence[str], finding: Sequence[str], common: Sequence[str]
) -> dict[str, Postings] | None:
    """The postings of words at the moment of the transaction; none where the database does not tell in time.

    Those of a common word take long to read: it must be asked for twice, not be written to in between, and find room.
    Did others go for it, words that are asked for in turn would be read again each time.
    """
    words = {term: Word(namespace, tuple(levels), term) for term in (*finding, *common)}
    kept = {term: found for term, word in words.items() if (found := KEPT.of(word))}
    values = {"namespace": namespace, "levels": list(levels), "terms": list(words)}
    unknown = [term for term in finding if term not in kept]
    told = in_time(Statement(VERSIONS, values), *read(unknown, values))
    if told is None:
        return None
    versions = {term: version for term, version, _ in told[0]}
    few = {term for term, _, documents in told[0] if documents <= min(MOST_READ, KEPT.room // POSTING_SIZE)}
    known = {term: postings for term, (version, postings) in kept.items() if version == versions.get(term, "")}
    missing = [term for term in finding if term in kept and term not in known]
    missing += [term for term in common if term in few - known.keys() and KEPT.again(words[term], versions[term])]
    again = in_time(*read(missing, values)) if missing else []
    if again is None:
        return None
    stored = {term: Postings.of(*arrays) for rows in (*told[1:], *again) for term, *arrays in rows}
    for term in (*unknown, *missing):
        known[term] = stored.get(term, NOWHERE)
        KEPT.keep(words[term], versions.get(term, ""), known[term])
    return known


def read(terms: Sequence[str], values: Mapping[str, object]) -> list[Statement]:
    """The question for the postings of words, where there are any."""
    return [Statement(POSTINGS, {**values, "unknown": list(terms)})] if terms else []


NOWHERE = Postings.of(np.empty(0, ID), np.empty(0, np.int32), np.empty(0, np.int32))


def counted(postings: Sequence[Postings], units: Sequence[float], share: Share) -> Counted:
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
    return Counted(heads[first], tails[first], np.add.reduceat(shares[order], first))


def counted_too(found: Counted, postings: Sequence[Postings], units: Sequence[float], share: Share) -> Counted:
    """What was found, with what more words tell of it; no word holds two ids that share their second half."""
    whole = found.units.copy()
    for word, unit in zip(postings, units, strict=True):
        place = np.searchsorted(word.tails, found.tails)
        place[place == len(word)] = 0
        holds = np.flatnonzero((word.tails[place] == found.tails) & (word.heads[place] == found.heads))
        whole[holds] += np.rint(unit * share(word.frequency[place[holds]], word.length[place[holds]]))
    return Counted(found.heads, found.tails, whole)
