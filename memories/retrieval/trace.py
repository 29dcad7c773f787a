"""Traces: a retrieval stored so that it can be explained and replayed."""

import random
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from memories.contracts.answer import Answer, TracedAnswer
from memories.db.ids import uuid7
from memories.db.json_codec import encode_json, pack_json
from memories.db.pipeline import Statement, fetch_pipeline
from memories.models import Memory, Namespace, Trace
from memories.models.choices import Status
from memories.retrieval.candidate_rows import uuid_array_literal
from memories.retrieval.query import Config, Filters, Query
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.trace_codec import LAYOUT, pack_signals
from scoring.systems import SYSTEMS

# Does not wait for the disk: the next commit that does, or the WAL writer, flushes it.
ASYNC_COMMIT = ", set_config('synchronous_commit', 'off', true)"


def is_trace_sampled() -> bool:
    """Whether this retrieval is traced."""
    return random.random() * 100 < settings.RECALL_TRACE_PERCENT


def store_trace(retrieval: Retrieval, answer: Answer, *, key: UUID | None, flush: bool = True) -> UUID:
    """Store the trace of a retrieval, under the answer's own trace id if it has one.

    Without `flush` a crash of the database may lose it until another commit of the caller is on disk.
    """
    query, config = retrieval.query, retrieval.query.config
    assert retrieval.parsed is not None
    trace: dict[str, Any] = {
        "namespace_id": query.namespace.id,
        "id": answer.trace or uuid7(),
        "at": timezone.now(),
        "as_of": query.now,
        "query": query.text,
        "request": to_json_text(request_to_dict(query)),
        "profile_version_id": config.version_id,
        "system": config.system.name,
        "params": to_json_text(dict(config.given)),
        "plan": to_json_text(retrieval.query_plan.to_dict()),
        "layout": LAYOUT,
        "candidates": uuid_array_literal(retrieval.signals.ids),
        "signals": pack_signals(retrieval.signals, retrieval.candidates.fingerprints, retrieval.parsed.embedder),
        "answer": pack_json(answer.to_dict()),
        "results": len(answer.results),
        "abstained": answer.abstained,
        "best_score": answer.results[0].score if answer.results else None,
        "took_ms": to_json_text(answer.took_ms),
        "api_key_id": key,
        "shadow": False,
    }
    # The pipeline is a transaction of its own; inside another one, synchronous_commit must stay on for its writes.
    commit = "" if flush or connection.in_atomic_block else ASYNC_COMMIT
    fetch_pipeline([Statement(insert_sql(*trace) + commit, trace)])
    id: UUID = trace["id"]
    return id


@cache
def insert_sql(*columns: str) -> str:
    """The INSERT statement of a trace."""
    values = ", ".join(f"%({name})s{'::uuid[]' if name == 'candidates' else ''}" for name in columns)
    return f"INSERT INTO {Trace._meta.db_table} ({', '.join(columns)}) VALUES ({values}) RETURNING id"


def to_json_text(value: Any) -> str:
    """A value as JSON."""
    return encode_json(value).decode()


def request_to_dict(query: Query) -> dict[str, Any]:
    """The query's options, as needed to run it again."""
    return {
        "top_k": query.top_k,
        "types": list(query.filters.types),
        "tags": list(query.filters.tags),
        "users": list(query.filters.users),
        "levels": list(query.filters.levels),
        "user": query.user,
        "session": query.session,
        "as_of": query.as_of.isoformat() if query.as_of else None,
        "on_low_confidence": query.on_low_confidence,
        "profile": query.config.profile,
        "version": query.config.version,
        "preset": query.config.preset,
    }


def query_from_trace(trace: Trace, config: Config | None = None) -> Query:
    """The query of a trace, with its own configuration or another."""
    request = trace.request
    filters = Filters(*(tuple(request[name]) for name in ("types", "tags", "users", "levels")))
    return Query(
        namespace=trace.namespace,
        text=trace.query,
        config=config or config_from_trace(trace),
        top_k=request["top_k"],
        filters=filters,
        user=request["user"],
        session=request["session"],
        as_of=trace.as_of if request["as_of"] else None,
        on_low_confidence=request.get("on_low_confidence", Query.on_low_confidence),
    )


def config_from_trace(trace: Trace) -> Config:
    """The configuration that a trace was ranked by."""
    request = trace.request
    return Config(
        SYSTEMS[trace.system],
        trace.params,
        request["profile"],
        request["version"],
        trace.profile_version_id,
        request.get("preset", ""),
    )


def redact_forgotten(trace: Trace) -> TracedAnswer:
    """The answer as served; forgotten memories keep their numbers and lose their text."""
    answer = TracedAnswer.from_dict({**trace.answer, "trace": str(trace.id), "gone": []})
    ids = [result.id for result in answer.results] + [miss.id for miss in answer.nearest]
    gone = forgotten_ids(trace.namespace, ids)
    if not gone:
        return answer
    groups = {type: [entry for entry in group if entry.id not in gone] for type, group in answer.context.items()}
    return replace(
        answer,
        results=[
            replace(result, content="", user="", gone=True) if result.id in gone else result
            for result in answer.results
        ],
        nearest=[replace(miss, content="", user="", gone=True) if miss.id in gone else miss for miss in answer.nearest],
        context={type: group for type, group in groups.items() if group},
        gone=sorted(gone),
    )


def forgotten_ids(namespace: Namespace, ids: Iterable[UUID]) -> set[UUID]:
    """Those of some memories that were forgotten or erased."""
    unique = set(ids)
    if not unique:
        return set()
    stored = Memory.objects.within(namespace).filter(id__in=unique).exclude(status=Status.FORGOTTEN)
    return unique - set(stored.values_list("id", flat=True))
