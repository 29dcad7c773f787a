"""What a query expects of an answer, and how candidates match: entity match and answer type match."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from memories.retrieval.candidate_rows import MemoryRow
from memories.retrieval.query_terms import WORD_PATTERN, QueryTerms
from memories.text.answer_types import AnswerType, contains_answer_type, expected_answer_type, relative_clause_start
from memories.text.capitalised_names import capitalised_mentions
from memories.text.entity_mentions import EntityMatch
from memories.text.identifiers import find_identifiers
from memories.text.stopwords import CALENDAR_WORDS, FUNCTION_WORDS, HOLIDAYS
from scoring.term import Array, Mask

NOT_NAMES = CALENDAR_WORDS | FUNCTION_WORDS | HOLIDAYS
TYPE_CHECKED = 32  # best candidates whose answer type is checked


@dataclass(frozen=True)
class ExpectedAnswer:
    """The entities and the answer type that a query asks for."""

    text: str
    answer_type: AnswerType
    people: frozenset[UUID]
    surface_forms: tuple[str, ...]  # of the people
    only_people: bool  # no other entities
    descriptive: bool  # the entities only describe somebody: “who taught Maya”
    unregistered: tuple[str, ...]  # names without an entity; only if the query names no entity
    has_identifier: bool  # among the unregistered names


def expected_answer(
    text: str,
    entities: Sequence[EntityMatch],
    people: frozenset[UUID],
    terms: QueryTerms,
) -> ExpectedAnswer:
    """What a query expects; an unregistered name counts if memories hold it or if it is an identifier."""
    names = [] if entities else unregistered_names(text)
    names = [name for name in names if is_identifier(name) or occurs_in_memories(name, terms)]
    clause = relative_clause_start(text)
    return ExpectedAnswer(
        text=text,
        answer_type=expected_answer_type(text),
        people=people,
        surface_forms=tuple(match.surface.casefold() for match in entities if match.entity_id in people),
        only_people=all(match.entity_id in people for match in entities),
        descriptive=clause is not None and all(text.find(match.surface) > clause for match in entities),
        unregistered=tuple(name.casefold() for name in names),
        has_identifier=any(map(is_identifier, names)),
    )


def unregistered_names(text: str) -> list[str]:
    """Names by capitalisation or form, without calendar and function words."""
    capitalised = (mention for mention in capitalised_mentions(text) if mention.certain)
    surfaces = dict.fromkeys(mention.surface for mention in (*capitalised, *find_identifiers(text)))
    return [name for name in surfaces if not {word.casefold() for word in WORD_PATTERN.findall(name)} <= NOT_NAMES]


def is_identifier(name: str) -> bool:
    """Whether a name is an identifier, which has no synonyms: PLAT-1187, but not k8s.

    >>> [is_identifier(name) for name in ("PLAT-1187", "E24", "k8s", "Lisbon")]
    [True, True, False, False]
    """
    return sum(char.isdigit() for char in name) > 1


def occurs_in_memories(name: str, query_terms: QueryTerms) -> bool:
    """Whether memories hold the terms of a name."""
    terms = query_terms.lexemes_of(name)
    return bool(terms) and all(query_terms.document_frequencies[term] for term in terms)


def answer_fit(
    rows: Sequence[MemoryRow],
    expected: ExpectedAnswer,
    match: Array | None,
    coverage: Array,
    people: Mapping[UUID, UUID],
) -> dict[str, Any]:
    """Entity match and answer type match of each candidate, and whether it is about another person.

    `people` are the persons whom candidates are about, by candidate.
    """
    texts = [row["content"] for row in rows]
    entity_scores = np.zeros(len(texts)) if match is None else np.where(np.isfinite(match), match, 0.0)
    entities = entity_match(rows, texts, expected, entity_scores)
    types = answer_type_match(texts, expected, entities * coverage)
    others = [row["id"] in people and people[row["id"]] not in expected.people for row in rows]
    another = (entities <= 0) & np.array(others, dtype=bool) & bool(expected.people)
    return {"answer_entity_match": entities, "answer_type_match": types, "about_another": another}


def entity_match(rows: Sequence[MemoryRow], texts: Sequence[str], expected: ExpectedAnswer, match: Array) -> Array:
    """1 for memories about the query's entities, 0 for others, in between for mere mentions of people.

    People take precedence over other entities. If the query names no entity, or none of any candidate, all match.
    """
    all_match = np.ones(len(texts))
    if expected.descriptive:
        return all_match
    if (match > 0).any():
        if not expected.people:
            return np.where(match > 0, 1.0, 0.0)
        of_people = match if expected.only_people else match * mentions_person(rows, texts, expected)
        return of_people / of_people.max() if of_people.any() else all_match
    named = contains_any(texts, expected.unregistered)
    return named.astype(float) if named.any() or expected.has_identifier else all_match


def mentions_person(rows: Sequence[MemoryRow], texts: Sequence[str], expected: ExpectedAnswer) -> Mask:
    """Which memories are about one of the people or contain the name."""
    subjects = np.array([row["subject_id"] in expected.people for row in rows], dtype=bool)
    return subjects | contains_any(texts, expected.surface_forms)


def contains_any(texts: Sequence[str], names: Sequence[str]) -> Mask:
    """Which texts contain one of the names, ignoring case."""
    if not names:
        return np.zeros(len(texts), dtype=bool)
    return np.array([any(name in folded for name in names) for folded in map(str.casefold, texts)], dtype=bool)


def answer_type_match(texts: Sequence[str], expected: ExpectedAnswer, coverage: Array) -> Mask:
    """Which of the best candidates contain the answer type; all, if the query asks for none or is descriptive."""
    if not expected.answer_type or expected.descriptive:
        return np.ones(len(texts), dtype=bool)
    matches = np.zeros(len(texts), dtype=bool)
    best = np.argsort(-coverage, kind="stable")[:TYPE_CHECKED]
    matches[best] = [contains_answer_type(expected.answer_type, texts[row], expected.text) for row in best]
    return matches
