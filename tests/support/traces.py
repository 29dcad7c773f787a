"""Traces: stored as rows, recorded by a retrieval, and where they lie."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection

from memories.db.ids import derived_id
from memories.models import Namespace, Trace
from memories.retrieval.answer import build_answer
from memories.retrieval.retrieve import Retrieval, retrieve
from memories.retrieval.trace import store_trace, to_json_text
from tests.support.retrieval_world import answer_to_dict
from tests.support.rows import row

FIRST_TRACE_AT = datetime(2026, 3, 1, 9, tzinfo=UTC)


def trace_row(namespace: Namespace, query: str, hour: int = 0, **given: Any) -> Trace:
    """Store a trace some hours after the first."""
    at = FIRST_TRACE_AT + timedelta(hours=hour)
    defaults = {"system": "blend", "request": {"profile": "", "version": None}, "took_ms": {"parse": 4.0, "rank": 1.5}}
    made: Trace = row(Trace, namespace, id=derived_id(at, query), at=at, query=query, **defaults | given)
    return made


def record_trace(query: Any) -> Trace:
    """Retrieve, and read back the trace that was left."""
    retrieval = retrieve(query)
    id = store_trace(retrieval, build_answer(retrieval), key=None)
    return Trace.objects.within(query.namespace).select_related("namespace").get(id=id)


def ranking_outcome(retrieval: Retrieval) -> tuple[Any, ...]:
    """All that a ranking decides: who, in which order, with which scores, why, and whether it is an answer."""
    ranking = retrieval.ranking
    rows = ranking.order.rows.tolist()
    return (
        [retrieval.candidates.rows[row]["id"] for row in rows],
        [float(ranking.score.value[row]) for row in rows],
        ranking.score.trees(rows),
        {gate: int((~kept).sum()) for gate, kept in ranking.gates.items()},
        ranking.answer_probability,
        ranking.abstained,
        [(pick.relevance, pick.redundancy) for pick in ranking.order.picks],
        json.loads(to_json_text({**answer_to_dict(retrieval, explain="none"), "took_ms": {}})),
    )


def trace_partitions() -> dict[Any, str]:
    """Tell in which partition each trace lies."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, tableoid::regclass::text FROM memories_trace")
        return dict(cursor.fetchall())
