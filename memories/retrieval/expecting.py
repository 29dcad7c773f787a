"""What a query expects of an answer: to be of whom it names, and to hold the kind of thing it asks for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from memories.id_arrays import halves
from memories.language.capitals import capitalised
from memories.language.entities import Found
from memories.language.identifiers import identifiers
from memories.language.questions import AnswerKind, asked_kind, describes, holds
from memories.language.stopwords import CALENDAR, FUNCTION_WORDS, HOLIDAYS
from memories.retrieval.rows import Rows
from memories.retrieval.words import WORD, Words
from scoring.term import Array, Mask

NO_NAMES = CALENDAR | FUNCTION_WORDS | HOLIDAYS
READ = 32  # candidates: what meets the query less than so many others is no answer, whatever it holds


@dataclass(frozen=True)
class Expectation:
    """Whom an answer must be of and what it must hold, as far as the wording of a query tells."""

    text: str
    kind: AnswerKind
    people: frozenset[UUID]  # the people among those it names
    forms: tuple[str, ...]  # how it names them
    alone: bool  # whether it names nobody else
    described: bool  # whether whom it names only describes somebody: “who taught Maya”
    said: tuple[str, ...]  # names that nobody registered, where it has no others
    coded: bool  # whether one of those is an identifier, and so says all that is asked for


def expected(text: str, named: Sequence[Found], people: frozenset[UUID], words: Words) -> Expectation:
    """What a query expects; a name that no memory holds is a word like others, an identifier is not."""
    said = [] if named else [name for name in names_in(text) if is_code(name) or is_held(name, words)]
    clause = describes(text)
    return Expectation(
        text=text,
        kind=asked_kind(text),
        people=people,
        forms=tuple(one.surface.casefold() for one in named if one.entity_id in people),
        alone=all(one.entity_id in people for one in named),
        described=clause is not None and all(text.find(one.surface) > clause for one in named),
        said=tuple(name.casefold() for name in said),
        coded=any(map(is_code, said)),
    )


def names_in(text: str) -> list[str]:
    """What a text names by capitals or by form, but no time."""
    found = [*(one for one in capitalised(text) if one.sure), *identifiers(text)]
    surfaces = dict.fromkeys(one.surface for one in found)
    return [name for name in surfaces if not {word.casefold() for word in WORD.findall(name)} <= NO_NAMES]


def is_code(name: str) -> bool:
    """Whether a name is an identifier, which nobody says in other words: PLAT-1187, but not k8s.

    >>> [is_code(name) for name in ("PLAT-1187", "E24", "k8s", "Lisbon")]
    [True, True, False, False]
    """
    return sum(sign.isdigit() for sign in name) > 1


def is_held(name: str, words: Words) -> bool:
    """Whether memories hold the words of a name."""
    terms = words.lexemes_of(name)
    return bool(terms) and all(words.holding[term] for term in terms)


def fitting(rows: Rows, expects: Expectation, match: Array | None, met: Array) -> dict[str, Any]:
    """How far each candidate is of whom the query names, and whether it holds what is asked for."""
    texts: Sequence[str] = rows.column("content")
    named = np.zeros(len(texts)) if match is None else np.where(np.isfinite(match), match, 0.0)
    whom = of_whom(rows, texts, expects, named)
    return {"of_whom": whom, "of_what": of_what(texts, expects, whom * met)}


def of_whom(rows: Rows, texts: Sequence[str], expects: Expectation, match: Array) -> Array:
    """1 where a memory is of whom the query names, 0 where it is of others; of people a mention tells less.

    Who names a person asks about the person, whatever else is named. All fit a query that names nobody, or nobody that
    a candidate is of.
    """
    everybody = np.ones(len(texts))
    if expects.described:
        return everybody
    if (match > 0).any():
        if not expects.people:
            return np.where(match > 0, 1.0, 0.0)
        theirs = match if expects.alone else match * speaks_of(rows, texts, expects)
        return theirs / theirs.max() if theirs.any() else everybody
    held = holding(texts, expects.said)
    return held.astype(float) if held.any() or expects.coded else everybody


def speaks_of(rows: Rows, texts: Sequence[str], expects: Expectation) -> Mask:
    """Which memories are about one of the people, or say the name."""
    people = {halves(one) for one in expects.people}
    subjects = np.array([subject in people for subject in rows.column("subject_id").tolist()], dtype=bool)
    return subjects | holding(texts, expects.forms)


def holding(texts: Sequence[str], names: Sequence[str]) -> Mask:
    """Which texts hold one of the names, whatever their case."""
    if not names:
        return np.zeros(len(texts), dtype=bool)
    return np.array([any(name in folded for name in names) for folded in map(str.casefold, texts)], dtype=bool)


def of_what(texts: Sequence[str], expects: Expectation, met: Array) -> Mask:
    """Which of the best hold the kind of thing that is asked for; what a description leads to may stand elsewhere."""
    if not expects.kind or expects.described:
        return np.ones(len(texts), dtype=bool)
    found = np.zeros(len(texts), dtype=bool)
    best = np.argsort(-met, kind="stable")[:READ]
    found[best] = [holds(expects.kind, texts[place], expects.text) for place in best]
    return found
