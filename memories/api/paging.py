"""Pages of rows, newest first, that stay put while rows are added: a page begins after a row, not at a number."""

from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from django.core import signing
from django.db.models import Q
from drf_spectacular.utils import inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from memories.api.fields import Text, Whole
from memories.api.serializers import Query
from memories.models import Namespace
from memories.models.keys import NamespacedQuerySet

USUAL, MOST = 50, 200


class PageQuery(Query):
    """Which page of a list, and how long."""

    limit = Whole(in_query=True, min_value=1, max_value=MOST, default=USUAL, help_text="how many at most")
    cursor = Text(max_length=500, required=False, help_text="from `next` or `previous` of another page")


class Cursor(NamedTuple):
    """The row that a page begins after, or ends before."""

    created_at: datetime | None  # none in a list whose ids alone tell the order
    id: UUID
    back: bool

    def signed(self, salt: str) -> str:
        """Give the cursor as a caller keeps it."""
        at = self.created_at and self.created_at.isoformat()
        return signing.dumps([at, str(self.id), self.back], salt=salt)

    @classmethod
    def read(cls, text: str, salt: str) -> "Cursor":
        """Read a cursor back, if it was given for this list."""
        try:
            at, id, back = signing.loads(text, salt=salt)
        except signing.BadSignature:
            wrong = "must be a cursor from `next` or `previous` of this list; got another"
            raise ValidationError({"cursor": [wrong]}) from None
        return cls(at and datetime.fromisoformat(at), UUID(id), back)

    @property
    def beyond(self) -> Q:
        """The rows on the far side; the first condition alone bounds a scan of an index."""
        if self.created_at is None:
            return Q(id__gt=self.id) if self.back else Q(id__lt=self.id)
        if self.back:
            return Q(created_at__gte=self.created_at) & (Q(created_at__gt=self.created_at) | Q(id__lt=self.id))
        return Q(created_at__lte=self.created_at) & (Q(created_at__lt=self.created_at) | Q(id__gt=self.id))


class Page(NamedTuple):
    """The rows of a page, and the addresses of its neighbours."""

    rows: list[Any]
    next: str | None
    previous: str | None

    def answer(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """Give the page as it is served."""
        results = serializer(self.rows, many=True).data
        return {"results": results, "next": self.next, "previous": self.previous}


def page(
    request: Request, namespace: Namespace, rows: NamespacedQuerySet[Any], query: dict[str, Any], *, by_id: bool = False
) -> Page:
    """Cut a page out of a namespace's rows by (created_at descending, id), or by falling id, which sorts by time."""
    salt = f"{namespace.id} {request.path}"
    cursor = Cursor.read(query["cursor"], salt) if "cursor" in query else None
    back = cursor is not None and cursor.back
    order = ["-id"] if by_id else ["-created_at", "id"]
    rows = rows.within(namespace).order_by(*order)
    rows = rows.reverse() if back else rows
    found = list(rows.filter(cursor.beyond if cursor else Q())[: query["limit"] + 1])
    more, found = len(found) > query["limit"], found[: query["limit"]]
    if back:
        found.reverse()

    def beside(row: Any, *, back: bool) -> str:
        at = None if by_id else row.created_at
        kept = request.query_params.dict() | {"cursor": Cursor(at, row.id, back).signed(salt)}
        return request.build_absolute_uri(f"{request.path}?{urlencode(kept)}")

    after, before = (True, more) if back else (more, cursor is not None)
    return Page(
        found,
        beside(found[-1], back=False) if found and after else None,
        beside(found[0], back=True) if found and before else None,
    )


def paged(name: str, serializer: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """Describe a page of something for the schema."""
    address: dict[str, Any] = {
        "allow_null": True,
        "help_text": "where the neighbouring page is; null where there is none",
    }
    fields: dict[str, serializers.Field[Any, Any, Any, Any]] = {
        "results": serializer(many=True),
        "next": serializers.URLField(**address),
        "previous": serializers.URLField(**address),
    }
    return inline_serializer(name, fields)
