"""What tells of memories without referring to them: traces, kept answers, jobs, rare words."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from memories.maintenance.redaction import Redaction
from memories.models import IdempotencyRecord, Job, Namespace

_ID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def naming(text: str) -> str:
    """The condition that a text names one of the ids; ids are too many to look for each in each text."""
    return f"EXISTS (SELECT FROM regexp_matches({text}, '{_ID}', 'g') AS found WHERE found[1]::uuid = ANY(%(ids)s))"


def among(column: str) -> str:
    """The condition that a list of ids has one of the ids; unlike `&&`, it looks them up in a hash table."""
    return f"EXISTS (SELECT FROM unnest({column}) AS one WHERE one = ANY(%(ids)s))"


# A trace is erased whole: its ranking, its signals and its answer hold for all of its candidates together.
TRACES = f"""
    DELETE FROM memories_trace
    WHERE namespace_id = %(namespace)s AND ({among("candidates")} OR {naming("request::text")})
"""
# What was found for a judged query likewise: its set is asked again before it measures anything.
TRACED = f"""
    DELETE FROM memories_tracedset WHERE namespace_id = %(namespace)s AND id IN (
        SELECT traced_set_id FROM memories_tracedquery WHERE namespace_id = %(namespace)s AND {among("candidates")}
    )
"""
ANSWERS = f"""
    DELETE FROM memories_idempotencyrecord
    WHERE namespace_id = %(namespace)s AND ({among("memory_ids")} OR {naming("response::text")})
"""
JOBS = f"""
    SELECT id FROM memories_job
    WHERE namespace_id = %(namespace)s AND {naming("concat(params, result)")}
"""
# A word that no memory has any more still stands among the statistics.
WORDS = """
    DELETE FROM memories_termstatistic known
    USING (
        SELECT DISTINCT w.lexeme FROM memories_memory m, unnest(to_tsvector(%(config)s::regconfig, m.content)) w
        WHERE m.namespace_id = %(namespace)s AND m.id = ANY(%(ids)s)
    ) said
    WHERE known.namespace_id = %(namespace)s AND known.term = said.lexeme AND known.documents = 0
"""
OF_USER = {
    "traces": "DELETE FROM memories_trace WHERE namespace_id = %(namespace)s AND request->>'user' = %(user)s",
    # An answer is kept as the text that was sent.
    "idempotency records": """
        DELETE FROM memories_idempotencyrecord
        WHERE namespace_id = %(namespace)s AND strpos(response #>> '{}', %(told)s) > 0
    """,
    "judged queries": 'DELETE FROM memories_judgedquery WHERE namespace_id = %(namespace)s AND "user" = %(user)s',
    "session returns": 'DELETE FROM memories_sessionreturn WHERE namespace_id = %(namespace)s AND "user" = %(user)s',
}
DELETES = {"traces": TRACES, "traced sets": TRACED, "idempotency records": ANSWERS, "term statistics": WORDS}


def erase_records(namespace: Namespace, ids: Sequence[UUID]) -> Counter[str]:
    """Erase the records that tell of memories."""
    values: dict[str, Any] = {"namespace": namespace.id, "ids": list(ids), "config": namespace.text_config}
    erased: Counter[str] = Counter()
    with connection.cursor() as cursor:
        for name, statement in DELETES.items():
            cursor.execute(statement, values)
            erased[name] = cursor.rowcount
    return erased


def redact_jobs(namespace: Namespace, redaction: Redaction) -> int:
    """Take from what jobs have found the parts that tell of ids; tell how many did."""
    with connection.cursor() as cursor:
        cursor.execute(JOBS, {"namespace": namespace.id, "ids": list(map(UUID, redaction.ids))})
        jobs = Job.objects.within(namespace).filter(id__in=[id for (id,) in cursor.fetchall()])
    for job in jobs:
        job.params, job.result = redaction.of_json(job.params), redaction.of_json(job.result)
    return Job.objects.bulk_update(jobs, ["params", "result"]) if jobs else 0


def erase_records_of(namespace: Namespace, user: str) -> Counter[str]:
    """Erase what was asked for a user and told of one: traces, kept answers, judged queries, returns."""
    values: dict[str, Any] = {
        "namespace": namespace.id,
        "user": user,
        "told": f'"user":{json.dumps(user, ensure_ascii=False)}',
    }
    erased: Counter[str] = Counter()
    with connection.cursor() as cursor:
        for name, statement in OF_USER.items():
            cursor.execute(statement, values)
            erased[name] = cursor.rowcount
    return erased


def erase_expired(namespace: Namespace) -> int:
    """Delete the kept answers whose time is over."""
    over = IdempotencyRecord.objects.within(namespace).filter(expires_at__lte=timezone.now())
    return over.delete()[0]
