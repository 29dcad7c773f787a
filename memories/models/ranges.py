"""Checks the database makes of single columns."""

from django.db.models import BaseConstraint, CheckConstraint, F, Q, TextChoices


def between(low: float, high: float, *fields: str) -> list[BaseConstraint]:
    """Keep columns within a range; NaN is refused too, since Postgres takes it for greater than every number."""
    return [
        CheckConstraint(condition=Q(**{f"{field}__range": (low, high)}), name=f"%(class)s_{field}_range")
        for field in fields
    ]


def one_of(**fields: type[TextChoices]) -> list[BaseConstraint]:
    """Keep columns to their vocabularies."""
    return [
        CheckConstraint(condition=Q(**{f"{field}__in": choices.values}), name=f"%(class)s_{field}_known")
        for field, choices in fields.items()
    ]


def in_order(first: str, last: str) -> CheckConstraint:
    """Keep a span from ending before it begins; an open end is fine."""
    return CheckConstraint(condition=Q(**{f"{last}__gte": F(first)}), name=f"%(class)s_{first}_first")


def before(first: str, second: str) -> CheckConstraint:
    """Keep a pair of rows in the order in which they were made: ids sort by time."""
    return CheckConstraint(condition=Q(**{f"{first}__lt": F(second)}), name=f"%(class)s_{first}_before")


def apart(first: str, second: str) -> CheckConstraint:
    """Keep a row from relating something to itself."""
    return CheckConstraint(condition=~Q(**{first: F(second)}), name=f"%(class)s_{first}_apart")
