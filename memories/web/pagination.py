"""Keyset pagination, newest first: a page starts after a row, not at an offset, so inserts do not shift it."""

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

from memories.models import Namespace
from memories.models.keys import NamespacedQuerySet
from memories.web.fields import Integer, Text
from memories.web.serializers import QueryString

DEFAULT_LIMIT, MAX_LIMIT = 50, 200


class PageQuery(QueryString):
    """Pagination parameters."""

    limit = Integer(in_query=True, min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT, help_text="page size")
    cursor = Text(max_length=500, required=False, help_text="from `next` or `previous` of another page")


class Cursor(NamedTuple):
    """The row a page starts after or ends before."""

    created_at: datetime | None  # None in a list ordered by id alone
    id: UUID
    back: bool

    def to_signed(self, salt: str) -> str:
        """The cursor as a signed, opaque string."""
        at = self.created_at and self.created_at.isoformat()
        return signing.dumps([at, str(self.id), self.back], salt=salt)

    @classmethod
    def from_signed(cls, text: str, salt: str) -> "Cursor":
        """Parse a cursor, if it was issued for this list."""
        try:
            at, id, back = signing.loads(text, salt=salt)
        except signing.BadSignature:
            message = "must be a cursor from `next` or `previous` of this list; got another"
            raise ValidationError({"cursor": [message]}) from None
        return cls(at and datetime.fromisoformat(at), UUID(id), back)

    @property
    def condition(self) -> Q:
        """The rows past the cursor; the first condition alone bounds the index scan."""
        if self.created_at is None:
            return Q(id__gt=self.id) if self.back else Q(id__lt=self.id)
        if self.back:
            return Q(created_at__gte=self.created_at) & (Q(created_at__gt=self.created_at) | Q(id__lt=self.id))
        return Q(created_at__lte=self.created_at) & (Q(created_at__lt=self.created_at) | Q(id__gt=self.id))


class Page(NamedTuple):
    """The rows of a page, and the URLs of the next and previous one."""

    rows: list[Any]
    next: str | None
    previous: str | None

    def to_dict(self, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """The page as JSON."""
        results = serializer(self.rows, many=True).data
        return {"results": results, "next": self.next, "previous": self.previous}


def paginate(
    request: Request, namespace: Namespace, rows: NamespacedQuerySet[Any], query: dict[str, Any], *, by_id: bool = False
) -> Page:
    """One page of a namespace's rows, ordered by (created_at descending, id) or by descending id (UUIDv7: by time)."""
    salt = f"{namespace.id} {request.path}"
    cursor = Cursor.from_signed(query["cursor"], salt) if "cursor" in query else None
    back = cursor is not None and cursor.back
    order = ["-id"] if by_id else ["-created_at", "id"]
    rows = rows.within(namespace).order_by(*order)
    rows = rows.reverse() if back else rows
    page_rows = list(rows.filter(cursor.condition if cursor else Q())[: query["limit"] + 1])
    more, page_rows = len(page_rows) > query["limit"], page_rows[: query["limit"]]
    if back:
        page_rows.reverse()

    def neighbour_url(row: Any, *, back: bool) -> str:
        at = None if by_id else row.created_at
        params = request.query_params.dict() | {"cursor": Cursor(at, row.id, back).to_signed(salt)}
        return request.build_absolute_uri(f"{request.path}?{urlencode(params)}")

    has_next, has_previous = (True, more) if back else (more, cursor is not None)
    return Page(
        page_rows,
        neighbour_url(page_rows[-1], back=False) if page_rows and has_next else None,
        neighbour_url(page_rows[0], back=True) if page_rows and has_previous else None,
    )


def page_schema(name: str, serializer: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """The OpenAPI schema of a page."""
    url_options: dict[str, Any] = {
        "allow_null": True,
        "help_text": "URL of the neighbouring page; null: none",
    }
    fields: dict[str, serializers.Field[Any, Any, Any, Any]] = {
        "results": serializer(many=True),
        "next": serializers.URLField(**url_options),
        "previous": serializers.URLField(**url_options),
    }
    return inline_serializer(name, fields)
