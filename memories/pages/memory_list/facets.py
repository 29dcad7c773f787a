"""How what matches divides, by type, status, confidence, age, tag, entity and session; counts end somewhere."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import EmptyResultSet
from django.db import connection

from memories.api.memories import visible_statuses
from memories.models import Entity, Memory, Namespace, Session
from memories.models.choices import MemoryType
from memories.models.keys import NamespacedQuerySet
from memories.pages.memory_list.filters import AGES, SURENESS, Browsing
from memories.templatetags.numbers import figure
from memories.web.roles import Access

MAX_COUNTED = 10_000  # matching memories that are counted exactly: the newest
SHOWN = 8  # values of an open facet
CLOSED = {"type": MemoryType.values, "confidence": SURENESS, "age": list(AGES)}
OPEN = ("tag", "entity", "session")
TITLES = {
    "status": "Status",
    "type": "Type",
    "confidence": "Confidence",
    "age": "Age",
    "tag": "Tag",
    "entity": "Entity",
    "session": "Session",
}
# Each value of an open facet, and the memories it is a value of.
VALUES = {
    "tag": ("t.tag", "JOIN memories_memorytag t ON t.namespace_id = %s AND t.memory_id = matched.id"),
    "entity": ("t.entity_id::text", "JOIN memories_mention t ON t.namespace_id = %s AND t.memory_id = matched.id"),
    "session": ("matched.session_id::text", "WHERE %s IS NOT NULL AND matched.session_id IS NOT NULL"),
}


@dataclass(frozen=True)
class Option:
    """One value of a facet: how many have it, and the address that chooses it, or lets go of it."""

    label: str
    count: int
    more: bool  # whether there are more than were counted
    url: str
    chosen: bool

    @property
    def told(self) -> str:
        """The count as it is shown."""
        return f"{self.count:,}+" if self.more else f"{self.count:,}"


@dataclass(frozen=True)
class Facet:
    """One way to divide what matches."""

    name: str
    title: str
    options: Sequence[Option]

    @property
    def chosen(self) -> bool:
        """Whether one of its values is chosen."""
        return any(one.chosen for one in self.options)


@dataclass(frozen=True)
class Counts:
    """How many match, up to a limit, and how many of those have each value of each facet."""

    total: int
    values: Mapping[str, Mapping[str, int]]

    @property
    def more(self) -> bool:
        """Whether more match than are counted."""
        return self.total > MAX_COUNTED


def facets(look: Browsing, access: Access, kept: Mapping[str, str]) -> tuple[list[Facet], Counts]:
    """Every facet, and how many match; a chosen value of a closed one stands among those it could be changed for."""
    here = counts(look, [*CLOSED, *OPEN])
    told = {name: (here.values.get(name, {}), here.more) for name in (*CLOSED, *OPEN)}
    for name in CLOSED:
        if name in look.query:
            other = counts(look, [name], without=name)
            told[name] = other.values.get(name, {}), other.more
    shown = {name: list(values) for name, values in CLOSED.items()}
    shown |= {name: with_chosen(told[name][0], look.query.get(name)) for name in OPEN}
    labels = labels_of(look, shown)
    found = [by_status(look, access, kept, here.total)]
    for name in (*CLOSED, *OPEN):
        values, more = told[name]
        chosen = str(look.query.get(name, ""))
        options = [
            Option(
                labels[name].get(value, value),
                values.get(value, 0),
                more and bool(values.get(value)),
                address(kept, **{name: "" if value == chosen else value}),
                value == chosen,
            )
            for value in shown[name]
        ]
        found.append(Facet(name, TITLES[name], [one for one in options if one.count or one.chosen]))
    return found, here


def with_chosen(values: Iterable[str], chosen: Any) -> list[str]:
    """The most frequent values, and the chosen one where it is not among them."""
    most = list(values)
    return most if chosen is None or str(chosen) in most else [*most, str(chosen)]


def by_status(look: Browsing, access: Access, kept: Mapping[str, str], here: int) -> Facet:
    """Each status with all other conditions; a search looks at active ones alone."""
    chosen: str = look.query["status"]
    states = [chosen] if "q" in look.query else visible_statuses(access)
    found = {chosen: here}
    rows = look.rows(without="status").order_by().values("status")
    if others := [status for status in states if status != chosen]:
        each = [sliced(rows.filter(status=status)) for status in others]
        sql = " UNION ALL ".join(f"SELECT %s, count(*) FROM ({one}) AS those" for one, _ in each)
        with connection.cursor() as cursor:
            told = ([status, *values] for status, (_, values) in zip(others, each, strict=True))
            cursor.execute(sql, [value for some in told for value in some])
            found |= dict(cursor.fetchall())
    options = [
        Option(
            status,
            min(found[status], MAX_COUNTED),
            found[status] > MAX_COUNTED,
            address(kept, status=status),
            status == chosen,
        )
        for status in states
    ]
    return Facet("status", TITLES["status"], [one for one in options if one.count or one.chosen])


def sliced(rows: NamespacedQuerySet[Memory] | Any) -> tuple[str, Sequence[Any]]:
    """A question cut off one beyond what is counted, as SQL with its values."""
    sql, values = rows[: MAX_COUNTED + 1].query.sql_with_params()
    return sql, values


def counts(look: Browsing, names: Iterable[str], without: str = "") -> Counts:
    """Count the newest matching memories by some facets, in one question."""
    columns = ("id", "type", "confidence", "created_at", "session_id")
    rows = look.rows(without).order_by("-created_at", "id").values(*columns)
    try:
        matched, values = sliced(rows)
    except EmptyResultSet:  # a search that found nothing asks for none of no ids
        return Counts(0, {})
    parts, told = ["SELECT '' AS facet, '' AS value, count(*) AS many FROM matched"], list(values)
    for name in names:
        if name in VALUES:
            value, join = VALUES[name]
            parts.append(
                f"(SELECT '{name}', {value}, count(*) FROM matched {join} GROUP BY 2 ORDER BY 3 DESC, 2 LIMIT {SHOWN})"
            )
            told.append(look.namespace.id)
        else:
            value, more = look.bands[name].case if name in look.bands else (name, [])
            parts.append(f"SELECT '{name}', {value}, count(*) FROM matched GROUP BY 2")
            told += more
    with connection.cursor() as cursor:
        cursor.execute(f"WITH matched AS MATERIALIZED ({matched}) {' UNION ALL '.join(parts)}", told)
        found: dict[str, dict[str, int]] = {}
        for facet, value, many in cursor.fetchall():
            found.setdefault(facet, {})[value] = many
    return Counts(found.pop("")[""], found)


def labels_of(look: Browsing, shown: Mapping[str, Sequence[str]]) -> dict[str, dict[str, str]]:
    """What values are called: names of entities and sessions, bands by their bounds."""
    sure, fair, _ = look.bands["confidence"].least.values()
    days = [most for most in AGES.values() if most]
    ages = [f"up to {days[0]} days", *(f"{low + 1} to {high} days" for low, high in pairwise(days))]
    return {
        "type": {},
        "confidence": {
            "sure": f"sure, from {figure(sure)}",
            "fair": f"fair, {figure(fair)} to {figure(sure)}",
            "unsure": f"unsure, below {figure(fair)}",
        },
        "age": dict(zip(AGES, [*ages, f"over {days[-1]} days"], strict=True)),
        "tag": {},
        "entity": names_of(Entity, look.namespace, shown["entity"]),
        "session": names_of(Session, look.namespace, shown["session"]),
    }


def names_of(model: type[Entity] | type[Session], namespace: Namespace, ids: Sequence[str]) -> dict[str, str]:
    """The names of some rows, one question."""
    rows: Any = model.objects.within(namespace).filter(id__in=ids)
    return {str(row.id): getattr(row, "title", "") or str(row) for row in rows}


def address(kept: Mapping[str, str], **changed: str) -> str:
    """The address of another choice, from its first page on."""
    chosen = {**kept, **changed}
    chosen.pop("cursor", None)
    return "?" + urlencode({name: value for name, value in chosen.items() if value})
