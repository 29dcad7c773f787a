"""A namespace's memories by age: one point each, or binned if there are many."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, DateTimeField, F, Func, Q, Value
from django.db.models.functions import Coalesce

from memories.models import Memory, Namespace
from memories.models.choices import STATEMENTS, Status
from memories.models.keys import NamespacedQuerySet

DAY = timedelta(days=1)
MAX_POINTS = 1_000  # beyond this, memories are binned by age
BINS = 60
MAX_CONTENT_CHARS = 80


class AgePoint(NamedTuple):
    """One memory, or a bin of memories of similar age."""

    days: float
    memories: int
    label: str


class AgeSource(NamedTuple):
    """The column a memory's age counts from; of several, the first that is not null."""

    columns: tuple[str, ...]

    @property
    def expression(self) -> Coalesce | F:
        """The timestamp as an SQL expression."""
        return Coalesce(*self.columns) if len(self.columns) > 1 else F(self.columns[0])

    def between(self, low: datetime, high: datetime) -> Q:
        """After one timestamp and up to another; a condition per column, so that the index of each can be used."""
        condition = Q()
        for index, column in enumerate(self.columns):
            unset = Q(**{f"{earlier}__isnull": True for earlier in self.columns[:index]})
            condition |= unset & Q(**{f"{column}__gt": low, f"{column}__lte": high})
        return condition


def retrievable_memories(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """The statements that retrieval can return."""
    return Memory.objects.within(namespace).filter(status=Status.ACTIVE, level__in=STATEMENTS)


def ages_by_field(namespace: Namespace, source: AgeSource, field: str) -> dict[str, list[AgePoint]]:
    """Memory ages by the value of a field, or all under one key if there is no field; at most two SQL queries."""
    rows = retrievable_memories(namespace)
    fields = (field,) if field else ()
    columns = (source.expression, "content", *fields)
    newest = list(rows.order_by("-created_at", "id").values_list(*columns)[: MAX_POINTS + 1])
    many = len(newest) > MAX_POINTS
    points = binned_points(namespace, rows, source, fields) if many else single_points(namespace, newest)
    by_value: dict[str, list[AgePoint]] = {}
    for value, point in points:
        by_value.setdefault(value, []).append(point)
    return by_value


def single_points(namespace: Namespace, rows: list[Any]) -> list[tuple[str, AgePoint]]:
    """One point per memory."""
    now = namespace.now
    return [
        ("".join(value), AgePoint(max((now - since) / DAY, 0.0), 1, content[:MAX_CONTENT_CHARS]))
        for since, content, *value in rows
    ]


def binned_points(
    namespace: Namespace, rows: NamespacedQuerySet[Memory], source: AgeSource, fields: tuple[str, ...]
) -> list[tuple[str, AgePoint]]:
    """Memories counted in equal bins of age, back from now."""
    now = namespace.now
    first = rows.order_by("created_at").values_list("created_at", flat=True)[0]
    width = max((now - first) / BINS, timedelta(seconds=1))
    start = Func(Value(width), source.expression, Value(now), function="date_bin", output_field=DateTimeField())
    bins = rows.annotate(begins=start).order_by("begins").values("begins", *fields).annotate(count=Count("*"))
    return [
        ("".join(row[name] for name in fields), bin_point(now - row["begins"], width, row["count"])) for row in bins
    ]


def bin_point(oldest: timedelta, width: timedelta, count: int) -> AgePoint:
    """The point of a bin; timestamps in the future count as age zero."""
    high, low, middle = (max(age / DAY, 0.0) for age in (oldest, oldest - width, oldest - width / 2))
    return AgePoint(middle, count, f"{count} memor{'y' if count == 1 else 'ies'}, {low:.0f} to {high:.0f} days old")
