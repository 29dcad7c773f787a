"""A retrieval written down, so that it can be explained and replayed later."""

import random
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from memories.db.ids import uuid7
from memories.db.json_codec import encode_json, pack_json
from memories.db.pipeline import Statement, fetch_pipeline
from memories.models import Trace
from memories.retrieval.query import Config, Filters, Query
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.trace_codec import LAYOUT, pack_signals
from scoring.systems import SYSTEMS

# Nobody waits until a trace is on the disk: a crash may lose the last moment's, and nothing else.
ASYNC_COMMIT = ", set_config('synchronous_commit', 'off', true)"


def is_trace_sampled() -> bool:
    """Whether this retrieval leaves a trace."""
    return random.random() * 100 < settings.RECALL_TRACE_PERCENT


def store_trace(retrieval: Retrieval, answer: dict[str, Any], *, key: UUID | None) -> UUID:
    """Leave a trace, and give its id."""
    query, setting = retrieval.query, retrieval.query.config
    assert retrieval.parsed is not None
    trace: dict[str, Any] = {
        "namespace_id": query.namespace.id,
        "id": uuid7(),
        "at": timezone.now(),
        "as_of": query.now,
        "query": query.text,
        "request": to_json_text(request_to_dict(query)),
        "profile_version_id": setting.version_id,
        "system": setting.system.name,
        "params": to_json_text(dict(setting.given)),
        "plan": to_json_text(retrieval.query_plan.to_dict()),
        "layout": LAYOUT,
        "candidates": retrieval.candidates.ids,
        "signals": pack_signals(retrieval.signals, retrieval.candidates.fingerprints, retrieval.parsed.embedder),
        "answer": pack_json(answer),
        "results": len(answer["results"]),
        "abstained": answer["abstained"],
        "best_score": answer["results"][0]["score"] if answer["results"] else None,
        "took_ms": to_json_text(answer["took_ms"]),
        "api_key_id": key,
        "shadow": False,
    }
    # A journey is a transaction of its own; in one of somebody else's, the rest of it must not be lost either.
    at_once = "" if connection.in_atomic_block else ASYNC_COMMIT
    [[(id, *_)]] = fetch_pipeline([Statement(insert_sql(*trace) + at_once, trace)])
    written: UUID = id
    return written


@cache
def insert_sql(*columns: str) -> str:
    """The statement that writes these columns."""
    values = ", ".join(f"%({name})s" for name in columns)
    return f"INSERT INTO {Trace._meta.db_table} ({', '.join(columns)}) VALUES ({values}) RETURNING id"


def to_json_text(value: Any) -> str:
    """A value as JSON."""
    return encode_json(value).decode()


def request_to_dict(query: Query) -> dict[str, Any]:
    """What was asked besides the text, as it is needed to ask again."""
    return {
        "top_k": query.top_k,
        "types": list(query.filters.types),
        "tags": list(query.filters.tags),
        "users": list(query.filters.users),
        "levels": list(query.filters.levels),
        "user": query.user,
        "session": query.session,
        "as_of": query.as_of.isoformat() if query.as_of else None,
        "profile": query.config.profile,
        "version": query.config.version,
    }


def query_from_trace(trace: Trace, config: Config | None = None) -> Query:
    """The query of a trace, under its own setting or another; it asks from the moment it was asked."""
    asked = trace.request
    filters = Filters(*(tuple(asked[name]) for name in ("types", "tags", "users", "levels")))
    return Query(
        namespace=trace.namespace,
        text=trace.query,
        config=config or config_from_trace(trace),
        top_k=asked["top_k"],
        filters=filters,
        user=asked["user"],
        session=asked["session"],
        as_of=trace.as_of if asked["as_of"] else None,
    )


def config_from_trace(trace: Trace) -> Config:
    """The setting that a trace was ranked by."""
    asked = trace.request
    return Config(SYSTEMS[trace.system], trace.params, asked["profile"], asked["version"], trace.profile_version_id)
