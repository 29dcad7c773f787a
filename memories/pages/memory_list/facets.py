"""Facets of the memory list: counts by status, type, confidence, age, tag, entity and session, up to a limit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import EmptyResultSet
from django.db import connection

from memories.contracts.number_format import format_number
from memories.models import Entity, Memory, Namespace, Session
from memories.models.choices import MemoryType
from memories.models.keys import NamespacedQuerySet
from memories.pages.memory_list.filters import AGES, CONFIDENCE_BANDS, MemorySelection
from memories.web.memory_filters import visible_statuses
from memories.web.roles import Access

MAX_COUNTED = 10_000  # newest matching memories that are counted
MAX_OPTIONS = 8  # of a facet with open values
FIXED_VALUES = {"type": MemoryType.values, "confidence": CONFIDENCE_BANDS, "age": list(AGES)}
OPEN_FACETS = ("tag", "entity", "session")
TITLES = {
    "status": "Status",
    "type": "Type",
    "confidence": "Confidence",
    "age": "Age",
    "tag": "Tag",
    "entity": "Entity",
    "session": "Session",
}
# The value column of an open facet, and its join.
OPEN_VALUES = {
    "tag": ("t.tag", "JOIN memories_memorytag t ON t.namespace_id = %s AND t.memory_id = matched.id"),
    "entity": ("t.entity_id::text", "JOIN memories_mention t ON t.namespace_id = %s AND t.memory_id = matched.id"),
    "session": ("matched.session_id::text", "WHERE %s IS NOT NULL AND matched.session_id IS NOT NULL"),
}


@dataclass(frozen=True)
class FacetOption:
    """One value of a facet: its count, and the URL that selects or deselects it."""

    label: str
    count: int
    more: bool  # whether there are more than were counted
    url: str
    selected: bool

    @property
    def count_text(self) -> str:
        """The count, with a plus if there are more."""
        return f"{self.count:,}+" if self.more else f"{self.count:,}"


@dataclass(frozen=True)
class Facet:
    """The options of one facet."""

    name: str
    title: str
    options: Sequence[FacetOption]

    @property
    def has_selection(self) -> bool:
        """Whether one of its options is selected."""
        return any(option.selected for option in self.options)


@dataclass(frozen=True)
class FacetCounts:
    """The number of matches up to a limit, and their number by facet and value."""

    total: int
    by_facet: Mapping[str, Mapping[str, int]]

    @property
    def more(self) -> bool:
        """Whether there are more matches than were counted."""
        return self.total > MAX_COUNTED


def load_facets(
    selection: MemorySelection, access: Access, params: Mapping[str, str]
) -> tuple[list[Facet], FacetCounts]:
    """All facets and the number of matches; a facet with a selection counts without its own condition."""
    counts = count_facets(selection, [*FIXED_VALUES, *OPEN_FACETS])
    by_facet = {name: (counts.by_facet.get(name, {}), counts.more) for name in (*FIXED_VALUES, *OPEN_FACETS)}
    for name in FIXED_VALUES:
        if name in selection.query:
            without = count_facets(selection, [name], without=name)
            by_facet[name] = without.by_facet.get(name, {}), without.more
    values = {name: list(fixed) for name, fixed in FIXED_VALUES.items()}
    values |= {name: with_selected(by_facet[name][0], selection.query.get(name)) for name in OPEN_FACETS}
    labels = facet_labels(selection, values)
    facets = [status_facet(selection, access, params, counts.total)]
    for name in (*FIXED_VALUES, *OPEN_FACETS):
        value_counts, more = by_facet[name]
        selected = str(selection.query.get(name, ""))
        options = [
            FacetOption(
                labels[name].get(value, value),
                value_counts.get(value, 0),
                more and bool(value_counts.get(value)),
                list_url(params, **{name: "" if value == selected else value}),
                value == selected,
            )
            for value in values[name]
        ]
        facets.append(Facet(name, TITLES[name], [option for option in options if option.count or option.selected]))
    return facets, counts


def with_selected(values: Iterable[str], selected: Any) -> list[str]:
    """The most frequent values, and the selected one."""
    frequent = list(values)
    return frequent if selected is None or str(selected) in frequent else [*frequent, str(selected)]


def status_facet(selection: MemorySelection, access: Access, params: Mapping[str, str], total: int) -> Facet:
    """Counts by status under all other conditions; a search covers active memories only."""
    selected: str = selection.query["status"]
    statuses = [selected] if "q" in selection.query else visible_statuses(access)
    counts = {selected: total}
    rows = selection.rows(without="status").order_by().values("status")
    if others := [status for status in statuses if status != selected]:
        subqueries = [limited_sql(rows.filter(status=status)) for status in others]
        sql = " UNION ALL ".join(f"SELECT %s, count(*) FROM ({subquery}) AS limited" for subquery, _ in subqueries)
        values = [[status, *params] for status, (_, params) in zip(others, subqueries, strict=True)]
        with connection.cursor() as cursor:
            cursor.execute(sql, [value for row in values for value in row])
            counts |= dict(cursor.fetchall())
    options = [
        FacetOption(
            status,
            min(counts[status], MAX_COUNTED),
            counts[status] > MAX_COUNTED,
            list_url(params, status=status),
            status == selected,
        )
        for status in statuses
    ]
    return Facet("status", TITLES["status"], [option for option in options if option.count or option.selected])


def limited_sql(rows: NamespacedQuerySet[Memory] | Any) -> tuple[str, Sequence[Any]]:
    """The SQL of a queryset with its values, limited to one more than are counted."""
    sql, values = rows[: MAX_COUNTED + 1].query.sql_with_params()
    return sql, values


def count_facets(selection: MemorySelection, names: Iterable[str], without: str = "") -> FacetCounts:
    """Count the newest matches by some facets, in one SQL query."""
    columns = ("id", "type", "confidence", "created_at", "session_id")
    rows = selection.rows(without).order_by("-created_at", "id").values(*columns)
    try:
        matched, values = limited_sql(rows)
    except EmptyResultSet:  # a search without results
        return FacetCounts(0, {})
    selects, all_values = ["SELECT '' AS facet, '' AS value, count(*) AS count FROM matched"], list(values)
    for name in names:
        if name in OPEN_VALUES:
            column, join = OPEN_VALUES[name]
            selects.append(
                f"(SELECT '{name}', {column}, count(*) FROM matched {join} "
                f"GROUP BY 2 ORDER BY 3 DESC, 2 LIMIT {MAX_OPTIONS})"
            )
            all_values.append(selection.namespace.id)
        else:
            column, case_values = selection.bands[name].sql_case if name in selection.bands else (name, [])
            selects.append(f"SELECT '{name}', {column}, count(*) FROM matched GROUP BY 2")
            all_values += case_values
    by_facet: dict[str, dict[str, int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(f"WITH matched AS MATERIALIZED ({matched}) {' UNION ALL '.join(selects)}", all_values)
        for facet, value, count in cursor.fetchall():
            by_facet.setdefault(facet, {})[value] = count
    return FacetCounts(by_facet.pop("")[""], by_facet)


def facet_labels(selection: MemorySelection, values: Mapping[str, Sequence[str]]) -> dict[str, dict[str, str]]:
    """Labels of facet values: names of entities and sessions, bounds of bands."""
    sure, fair, _ = selection.bands["confidence"].lower_bounds.values()
    days = [max_days for max_days in AGES.values() if max_days]
    ages = [f"up to {days[0]} days", *(f"{low + 1} to {high} days" for low, high in pairwise(days))]
    return {
        "type": {},
        "confidence": {
            "sure": f"sure, from {format_number(sure)}",
            "fair": f"fair, {format_number(fair)} to {format_number(sure)}",
            "unsure": f"unsure, below {format_number(fair)}",
        },
        "age": dict(zip(AGES, [*ages, f"over {days[-1]} days"], strict=True)),
        "tag": {},
        "entity": names_by_id(Entity, selection.namespace, values["entity"]),
        "session": names_by_id(Session, selection.namespace, values["session"]),
    }


def names_by_id(model: type[Entity] | type[Session], namespace: Namespace, ids: Sequence[str]) -> dict[str, str]:
    """Names of some entities or sessions, in one SQL query."""
    rows: Any = model.objects.within(namespace).filter(id__in=ids)
    return {str(row.id): getattr(row, "title", "") or str(row) for row in rows}


def list_url(params: Mapping[str, str], **changed: str) -> str:
    """The list's first page with some parameters changed."""
    query = {**params, **changed}
    query.pop("cursor", None)
    return "?" + urlencode({name: value for name, value in query.items() if value})
