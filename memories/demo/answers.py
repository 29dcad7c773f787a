"""The demo's judged queries."""

from collections.abc import Mapping
from uuid import UUID

from memories.demo.telling import Telling
from memories.demo.world import CLOCK, Question
from memories.models import JudgedQuery, Judgement, JudgementSet
from memories.models.choices import QueryKind
from memories.tuning.splits import split_of

NAME = "demo"


def add(telling: Telling) -> None:
    """Write the set, its queries and their graded answers."""
    note = "Written with the demo world; tempting wrong answers have grade 0, and so has all that is not listed."
    judged = JudgementSet(namespace=telling.namespace, name=NAME, note=note, created_at=CLOCK)
    judged.save(force_insert=True)
    queries = {question.query: query(judged, question) for question in telling.world.questions}
    JudgedQuery.objects.bulk_create(queries.values())
    Judgement.objects.bulk_create(
        Judgement(query=queries[question.query], memory_id=memory, grade=grade, judged_at=CLOCK, judged_by=NAME)
        for question in telling.world.questions
        for memory, grade in grades(telling, question).items()
    )


def query(judged: JudgementSet, question: Question) -> JudgedQuery:
    """Make a judged query."""
    return JudgedQuery(
        namespace_id=judged.namespace_id,
        judgement_set_id=judged.id,
        text=question.query,
        category=question.category,
        kind=QueryKind.ANSWERABLE if question.answerable else QueryKind.UNANSWERABLE,
        part=split_of(question.query),
        user=question.user,
    )


def grades(telling: Telling, question: Question) -> Mapping[UUID, int]:
    """Grade what can come back: an absorbed memory hands its grade on, and the higher one wins."""
    best: dict[UUID, int] = {}
    for key, grade in question.grades.items():
        memory = telling.memories[key]
        best[memory] = max(best.get(memory, 0), grade)
    return best
