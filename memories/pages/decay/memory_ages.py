"""A namespace's memories by their age: each by itself, or counted together where they are many."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, DateTimeField, F, Func, Q, Value
from django.db.models.functions import Coalesce

from memories.models import Memory, Namespace
from memories.models.choices import STATEMENTS, Status
from memories.models.keys import NamespacedQuerySet

DAY = timedelta(days=1)
MAX_POINTS = 1_000  # memories up to which each stands by itself; more are counted together
BINS = 60
SAID = 80  # characters of a memory


class Aged(NamedTuple):
    """One memory, or several of about the same age."""

    days: float
    memories: int
    says: str


class Since(NamedTuple):
    """From when a memory's age counts: a column, or the first of two."""

    columns: tuple[str, ...]

    @property
    def expression(self) -> Coalesce | F:
        """The moment, as a question to the database."""
        return Coalesce(*self.columns) if len(self.columns) > 1 else F(self.columns[0])

    def within(self, low: datetime, high: datetime) -> Q:
        """After one moment and up to another, column by column: so that an index of each can be used."""
        found = Q()
        for place, column in enumerate(self.columns):
            before = Q(**{f"{earlier}__isnull": True for earlier in self.columns[:place]})
            found |= before & Q(**{f"{column}__gt": low, f"{column}__lte": high})
        return found


def stored(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """The statements that can come back."""
    return Memory.objects.within(namespace).filter(status=Status.ACTIVE, level__in=STATEMENTS)


def aged(namespace: Namespace, since: Since, field: str) -> dict[str, list[Aged]]:
    """The memories by a field of theirs, or all under one name where there is none; one question, or two for many."""
    rows = stored(namespace)
    by = (field,) if field else ()
    columns = (since.expression, "content", *by)
    some = list(rows.order_by("-created_at", "id").values_list(*columns)[: MAX_POINTS + 1])
    found: dict[str, list[Aged]] = {}
    for value, one in counted(namespace, rows, since, by) if len(some) > MAX_POINTS else each(namespace, some):
        found.setdefault(value, []).append(one)
    return found


def each(namespace: Namespace, rows: list[Any]) -> list[tuple[str, Aged]]:
    """Every memory by itself."""
    now = namespace.now
    return [("".join(value), Aged(max((now - since) / DAY, 0.0), 1, content[:SAID])) for since, content, *value in rows]


def counted(
    namespace: Namespace, rows: NamespacedQuerySet[Memory], since: Since, by: tuple[str, ...]
) -> list[tuple[str, Aged]]:
    """Many memories by their age, in equal steps back from now."""
    now = namespace.now
    first = rows.order_by("created_at").values_list("created_at", flat=True)[0]
    width = max((now - first) / BINS, timedelta(seconds=1))
    begins = Func(Value(width), since.expression, Value(now), function="date_bin", output_field=DateTimeField())
    steps = rows.annotate(begins=begins).order_by("begins").values("begins", *by).annotate(count=Count("*"))
    return [("".join(row[name] for name in by), together(now - row["begins"], width, row["count"])) for row in steps]


def together(oldest: timedelta, width: timedelta, count: int) -> Aged:
    """Memories within one step of age; what is of this very moment, or ahead of it, has no age."""
    high, low, middle = (max(age / DAY, 0.0) for age in (oldest, oldest - width, oldest - width / 2))
    return Aged(middle, count, f"{count} memor{'y' if count == 1 else 'ies'}, {low:.0f} to {high:.0f} days old")
