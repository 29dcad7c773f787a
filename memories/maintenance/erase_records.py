"""Records that contain memories without a foreign key: traces, traced sets, idempotency records, rare index terms."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from memories.models import IdempotencyRecord, Namespace

_ID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def names_id_sql(text: str) -> str:
    """Whether a text contains one of the ids; extracts its ids once, since there are too many to search for each."""
    return f"EXISTS (SELECT FROM regexp_matches({text}, '{_ID}', 'g') AS found WHERE found[1]::uuid = ANY(%(ids)s))"


def contains_id_sql(column: str) -> str:
    """Whether an array contains one of the ids; unlike `&&`, this uses a hash table."""
    return f"EXISTS (SELECT FROM unnest({column}) AS item WHERE item = ANY(%(ids)s))"


ERASE_SQL = {
    # Whole traces: the ranking, signals and answer of a trace belong to all its candidates together.
    "traces": f"""
        DELETE FROM memories_trace
        WHERE namespace_id = %(namespace)s AND ({contains_id_sql("candidates")} OR {names_id_sql("request::text")})
    """,
    # Likewise: the set is traced again before it is next evaluated.
    "traced sets": f"""
        DELETE FROM memories_tracedset WHERE namespace_id = %(namespace)s AND id IN (
            SELECT traced_set_id FROM memories_tracedquery
            WHERE namespace_id = %(namespace)s AND {contains_id_sql("candidates")}
        )
    """,
    "idempotency records": f"""
        DELETE FROM memories_idempotencyrecord
        WHERE namespace_id = %(namespace)s AND ({contains_id_sql("memory_ids")} OR {names_id_sql("response::text")})
    """,
    # Term statistics outlive the last memory that contains the term.
    "term statistics": """
        DELETE FROM memories_termstatistic known
        USING (
            SELECT DISTINCT w.lexeme FROM memories_memory m, unnest(to_tsvector(%(config)s::regconfig, m.content)) w
            WHERE m.namespace_id = %(namespace)s AND m.id = ANY(%(ids)s)
        ) erased
        WHERE known.namespace_id = %(namespace)s AND known.term = erased.lexeme AND known.documents = 0
    """,
}
ERASE_USER_SQL = {
    "traces": "DELETE FROM memories_trace WHERE namespace_id = %(namespace)s AND request->>'user' = %(user)s",
    # A response is stored as the text that was sent.
    "idempotency records": """
        DELETE FROM memories_idempotencyrecord
        WHERE namespace_id = %(namespace)s AND strpos(response #>> '{}', %(user_json)s) > 0
    """,
    "judged queries": 'DELETE FROM memories_judgedquery WHERE namespace_id = %(namespace)s AND "user" = %(user)s',
    "session returns": 'DELETE FROM memories_sessionreturn WHERE namespace_id = %(namespace)s AND "user" = %(user)s',
}


def erase_records(namespace: Namespace, ids: Sequence[UUID]) -> Counter[str]:
    """Erase the records that contain some memories."""
    return execute_and_count(ERASE_SQL, {"namespace": namespace.id, "ids": list(ids), "config": namespace.text_config})


def erase_user_records(namespace: Namespace, user: str) -> Counter[str]:
    """Erase a user's traces, idempotency records, judged queries and session returns."""
    user_json = f'"user":{json.dumps(user, ensure_ascii=False)}'
    return execute_and_count(ERASE_USER_SQL, {"namespace": namespace.id, "user": user, "user_json": user_json})


def execute_and_count(statements: Mapping[str, str], values: Mapping[str, Any]) -> Counter[str]:
    """Execute named statements; returns the affected rows of each."""
    counts: Counter[str] = Counter()
    with connection.cursor() as cursor:
        for name, statement in statements.items():
            cursor.execute(statement, values)
            counts[name] = cursor.rowcount
    return counts


def erase_expired_records(namespace: Namespace) -> int:
    """Delete expired idempotency records."""
    expired = IdempotencyRecord.objects.within(namespace).filter(expires_at__lte=timezone.now())
    return expired.delete()[0]
