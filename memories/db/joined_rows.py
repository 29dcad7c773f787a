"""Rows of several tables by a statement that the database keeps; the ORM would take longer to spell it each time."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model

from memories.db.pipeline import Statement, fetch_pipeline


@cache
def table_columns(**tables: type[Model]) -> str:
    """All columns of some models, each under the name that its table has in the statement."""
    return ", ".join(f'{name}."{one.column}"' for name, model in tables.items() for one in model._meta.concrete_fields)


def fetch_joined(sql: str, values: dict[str, Any], *models: type[Model]) -> Sequence[Any] | None:
    """The models of the first row, in the order of its columns; none where the row has nothing of one."""
    [rows] = fetch_pipeline([Statement(sql, values)])
    if not rows:
        return None
    left, made = list(rows[0]), list[Model | None]()
    for model in models:
        names = [one.attname for one in model._meta.concrete_fields]
        known, left = left[: len(names)], left[len(names) :]
        empty = known[names.index("id")] is None
        made.append(None if empty else model.from_db(DEFAULT_DB_ALIAS, names, known))
    return made


def cache_relation(one: Model | None, relation: str, other: Model | None) -> None:
    """Let a model know another that it refers to, so that nobody asks for it again."""
    if one is not None:
        one._meta.get_field(relation).set_cached_value(one, other)  # type: ignore[union-attr]
