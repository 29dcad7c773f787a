"""A judged set as files: lines of JSON that import again, or TREC's queries and judgements."""

import json
from collections.abc import Iterator, Mapping
from uuid import UUID

from django.db.models import Prefetch

from memories.judging import current, trec
from memories.judging.references import present
from memories.models import JudgedQuery, Judgement, JudgementSet

SHAPES = ("jsonl", "qrels", "queries")


def exported(judged: JudgementSet, shape: str, *, holding: bool = False, words: bool = False) -> Iterator[str]:
    """The lines of a set, as they were judged, or as they hold today.

    With `words`, JSON names memories by what they say, which another namespace understands as well.
    """
    if shape == "queries":
        rows = JudgedQuery.objects.within(judged.namespace).filter(judgement_set_id=judged.id).order_by("id")
        return trec.written_queries(dict(rows.values_list("id", "text")))
    grades = grades_of(judged, holding=holding)
    if shape == "qrels":
        return trec.written_qrels({query.id: given for query, given in grades.items()})
    return json_lines(judged, grades, words=words)


def grades_of(judged: JudgementSet, *, holding: bool) -> Mapping[JudgedQuery, Mapping[UUID, int]]:
    """Every query with its grades."""
    if holding:
        return {one.query: one.grades for one in current.grades(judged.namespace, judged.id).queries}
    by_id = Judgement.objects.within(judged.namespace).order_by("id")
    rows = JudgedQuery.objects.within(judged.namespace).filter(judgement_set_id=judged.id).order_by("id")
    return {
        query: {one.memory_id: one.grade for one in query.judgements.all()}
        for query in rows.prefetch_related(Prefetch("judgements", by_id))
    }


def json_lines(judged: JudgementSet, grades: Mapping[JudgedQuery, Mapping[UUID, int]], *, words: bool) -> Iterator[str]:
    """One line for each query; what is empty is not said."""
    contents: dict[UUID, str] = {}
    if words:
        ids = {memory for given in grades.values() for memory in given}
        contents = dict(present(judged.namespace).filter(id__in=ids).values_list("id", "content"))
    for query, given in grades.items():
        said = {"category": query.category, "user": query.user, "as_of": query.as_of and query.as_of.isoformat()}
        line = {
            "query": query.text,
            "kind": query.kind,
            **{name: value for name, value in said.items() if value},
            "judgements": [
                {"memory": {"content": contents[memory]} if words else str(memory), "grade": grade}
                for memory, grade in given.items()
                if not words or memory in contents  # what was forgotten has no words any more
            ],
        }
        yield json.dumps(line, ensure_ascii=False)
