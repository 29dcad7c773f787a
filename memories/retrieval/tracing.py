"""A retrieval written down, so that it can be explained and replayed later."""

import random
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from memories.ids import uuid7
from memories.journey import Statement, answered
from memories.models import Trace
from memories.models.packed_json import as_json
from memories.models.packed_json import packed as packed_json
from memories.retrieval.packing import LAYOUT, packed
from memories.retrieval.query import Filters, Query, Setting
from memories.retrieval.retrieve import Retrieval
from scoring.systems import SYSTEMS

# Nobody waits until a trace is on the disk: a crash may lose the last moment's, and nothing else.
AT_ONCE = ", set_config('synchronous_commit', 'off', true)"


def sampled() -> bool:
    """Whether this retrieval leaves a trace."""
    return random.random() * 100 < settings.RECALL_TRACE_PERCENT


def write(retrieval: Retrieval, answer: dict[str, Any], *, key: UUID | None) -> UUID:
    """Leave a trace, and give its id."""
    query, setting = retrieval.query, retrieval.query.setting
    assert retrieval.reading is not None
    trace: dict[str, Any] = {
        "namespace_id": query.namespace.id,
        "id": uuid7(),
        "at": timezone.now(),
        "as_of": query.now,
        "query": query.text,
        "request": spelt(request_of(query)),
        "profile_version_id": setting.version_id,
        "system": setting.system.name,
        "params": spelt(dict(setting.given)),
        "plan": spelt(retrieval.planning.told()),
        "layout": LAYOUT,
        "candidates": retrieval.batch.ids,
        "signals": packed(retrieval.signals, retrieval.batch.marks, retrieval.reading.embedder),
        "answer": packed_json(answer),
        "results": len(answer["results"]),
        "abstained": answer["abstained"],
        "best_score": answer["results"][0]["score"] if answer["results"] else None,
        "took_ms": spelt(answer["took_ms"]),
        "api_key_id": key,
        "shadow": False,
    }
    # A journey is a transaction of its own; in one of somebody else's, the rest of it must not be lost either.
    at_once = "" if connection.in_atomic_block else AT_ONCE
    [[(id, *_)]] = answered([Statement(inserted(*trace) + at_once, trace)])
    written: UUID = id
    return written


@cache
def inserted(*columns: str) -> str:
    """The statement that writes these columns."""
    values = ", ".join(f"%({name})s" for name in columns)
    return f"INSERT INTO {Trace._meta.db_table} ({', '.join(columns)}) VALUES ({values}) RETURNING id"


def spelt(value: Any) -> str:
    """A value as JSON."""
    return as_json(value).decode()


def request_of(query: Query) -> dict[str, Any]:
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
        "profile": query.setting.profile,
        "version": query.setting.version,
    }


def query_of(trace: Trace, setting: Setting | None = None) -> Query:
    """The query of a trace, under its own setting or another; it asks from the moment it was asked."""
    asked = trace.request
    filters = Filters(*(tuple(asked[name]) for name in ("types", "tags", "users", "levels")))
    return Query(
        namespace=trace.namespace,
        text=trace.query,
        setting=setting or setting_of(trace),
        top_k=asked["top_k"],
        filters=filters,
        user=asked["user"],
        session=asked["session"],
        as_of=trace.as_of if asked["as_of"] else None,
    )


def setting_of(trace: Trace) -> Setting:
    """The setting that a trace was ranked by."""
    asked = trace.request
    return Setting(SYSTEMS[trace.system], trace.params, asked["profile"], asked["version"], trace.profile_version_id)
