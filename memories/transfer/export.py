"""A whole namespace as lines of JSON: a header, every row, and a last line that says that nothing is missing."""

import json
from collections.abc import Iterator
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection

from memories.db.snapshot import snapshot
from memories.models import Namespace
from memories.transfer.tables import VECTORS, question, tables

FORMAT = 1
TOGETHER = 500  # rows that are fetched at once
NOT_TOLD = ("id",)  # a restored namespace has an id of its own


def exported(namespace: Namespace, *, vectors: bool = True) -> Iterator[str]:
    """Tell everything of a namespace, of one moment, line by line."""
    count = 0
    with snapshot():
        yield header(namespace, vectors=vectors)
        for table in tables().values():
            if vectors or table not in VECTORS:
                with connection.chunked_cursor() as cursor:
                    cursor.execute(question(table), {"namespace": namespace.id})
                    while rows := cursor.fetchmany(TOGETHER):
                        count += len(rows)
                        yield from (line for (line,) in rows)
        yield json.dumps({"end": count})


def header(namespace: Namespace, *, vectors: bool) -> str:
    """The first line: what format it is, and the namespace itself."""
    now = Namespace.objects.get(id=namespace.id)
    fields: dict[str, Any] = {
        field.name: getattr(now, field.name) for field in Namespace._meta.fields if field.name not in NOT_TOLD
    }
    line = {"recall": FORMAT, "namespace": fields, "vectors": vectors}
    return json.dumps(line, ensure_ascii=False, cls=Exact)


class Exact(DjangoJSONEncoder):
    """Times to the microsecond: the usual encoder stops at the millisecond."""

    def default(self, o: Any) -> Any:
        return o.isoformat() if hasattr(o, "isoformat") else super().default(o)
