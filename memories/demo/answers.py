"""The demo's judged queries as rows."""

import hashlib
from collections.abc import Iterator, Mapping

from memories.demo.history import History
from memories.demo.world import CLOCK, Question
from memories.ids import derived
from memories.models import JudgedQuery, Judgement, JudgementSet
from memories.models.choices import Part, QueryKind
from scoring.dedup import normalize

NAME = "demo"
TUNED_ON = 0.7


def part_of(text: str) -> Part:
    """Decide by its text alone whether a query is tuned on, so that no reordering moves it to the other side."""
    digest = hashlib.sha256(normalize(text).encode()).digest()
    return Part.TUNE if int.from_bytes(digest[:8]) < TUNED_ON * 2**64 else Part.HOLDOUT


def rows(history: History) -> Iterator[JudgementSet | JudgedQuery | Judgement]:
    """Make the set, its queries and their graded answers."""
    judged = JudgementSet(
        id=derived(CLOCK, f"judgement set {NAME}"),
        name=NAME,
        note="Written with the demo world; tempting wrong answers have grade 0, and so has all that is not listed.",
        created_at=CLOCK,
    )
    yield judged
    for question in history.world.questions:
        query = JudgedQuery(
            id=derived(CLOCK, f"query {question.query}"),
            judgement_set_id=judged.id,
            text=question.query,
            category=question.category,
            kind=QueryKind.ANSWERABLE if question.answerable else QueryKind.NEVER_STORED,
            part=part_of(question.query),
            user=question.user,
        )
        yield query
        for key, grade in grades(history, question).items():
            yield Judgement(
                id=derived(CLOCK, f"judgement {question.query} {key}"),
                query_id=query.id,
                memory_id=history.records[key].id,
                grade=grade,
                judged_at=CLOCK,
                judged_by=NAME,
            )


def grades(history: History, question: Question) -> Mapping[str, int]:
    """Grade what can come back: an absorbed memory hands its grade on, and the higher one wins."""
    best: dict[str, int] = {}
    for key, grade in question.grades.items():
        survivor = history.standing(key).memory.key
        best[survivor] = max(best.get(survivor, 0), grade)
    return best
