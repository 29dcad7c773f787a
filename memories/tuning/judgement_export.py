"""Export of a judgement set: JSON Lines that can be imported, or TREC queries and qrels."""

import json
from collections.abc import Iterator, Mapping
from uuid import UUID

from django.db.models import Prefetch

from memories.models import JudgedQuery, Judgement, JudgementSet
from memories.tuning import current_grades, trec
from memories.tuning.memory_references import judgeable_memories

EXPORT_FORMATS = ("jsonl", "qrels", "queries")


def export_judgements(
    judgement_set: JudgementSet, file_format: str, *, resolved: bool = False, by_content: bool = False
) -> Iterator[str]:
    """The lines of a set, with grades as given or resolved to current memories.

    With `by_content`, JSON refers to memories by their content, which another namespace understands as well.
    """
    if file_format == "queries":
        rows = (
            JudgedQuery.objects.within(judgement_set.namespace).filter(judgement_set_id=judgement_set.id).order_by("id")
        )
        return trec.format_trec_queries(dict(rows.values_list("id", "text")))
    grades = judgement_set_grades(judgement_set, resolved=resolved)
    if file_format == "qrels":
        return trec.format_qrels({query.id: given for query, given in grades.items()})
    return judgement_json_lines(judgement_set, grades, by_content=by_content)


def judgement_set_grades(judgement_set: JudgementSet, *, resolved: bool) -> Mapping[JudgedQuery, Mapping[UUID, int]]:
    """Every query with its grades."""
    if resolved:
        return {
            graded.query: graded.grades
            for graded in current_grades.load_grades(judgement_set.namespace, judgement_set.id).queries
        }
    by_id = Judgement.objects.within(judgement_set.namespace).order_by("id")
    rows = JudgedQuery.objects.within(judgement_set.namespace).filter(judgement_set_id=judgement_set.id).order_by("id")
    return {
        query: {judgement.memory_id: judgement.grade for judgement in query.judgements.all()}
        for query in rows.prefetch_related(Prefetch("judgements", by_id))
    }


def judgement_json_lines(
    judgement_set: JudgementSet, grades: Mapping[JudgedQuery, Mapping[UUID, int]], *, by_content: bool
) -> Iterator[str]:
    """One line per query; empty fields are omitted."""
    contents: dict[UUID, str] = {}
    if by_content:
        ids = {memory for by_memory in grades.values() for memory in by_memory}
        contents = dict(judgeable_memories(judgement_set.namespace).filter(id__in=ids).values_list("id", "content"))
    for query, by_memory in grades.items():
        optional = {"category": query.category, "user": query.user, "as_of": query.as_of and query.as_of.isoformat()}
        line = {
            "query": query.text,
            "kind": query.kind,
            **{name: value for name, value in optional.items() if value},
            "judgements": [
                {"memory": {"content": contents[memory]} if by_content else str(memory), "grade": grade}
                for memory, grade in by_memory.items()
                if not by_content or memory in contents  # forgotten memories have no content
            ],
        }
        yield json.dumps(line, ensure_ascii=False)
