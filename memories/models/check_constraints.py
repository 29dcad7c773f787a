"""Check constraints on columns."""

from django.db.models import BaseConstraint, CheckConstraint, F, Q, TextChoices


def range_checks(low: float, high: float, *fields: str) -> list[BaseConstraint]:
    """Columns within a range; NaN fails too, since Postgres sorts it above every number."""
    return [
        CheckConstraint(condition=Q(**{f"{field}__range": (low, high)}), name=f"%(class)s_{field}_range")
        for field in fields
    ]


def choice_checks(**fields: type[TextChoices]) -> list[BaseConstraint]:
    """Columns that hold one of their choices."""
    return [
        CheckConstraint(condition=Q(**{f"{field}__in": choices.values}), name=f"%(class)s_{field}_known")
        for field, choices in fields.items()
    ]


def order_check(first: str, last: str) -> CheckConstraint:
    """An interval that does not end before it starts; either end may be open."""
    return CheckConstraint(condition=Q(**{f"{last}__gte": F(first)}), name=f"%(class)s_{first}_first")


def pair_order_check(first: str, second: str) -> CheckConstraint:
    """A pair of ids in the order of their creation, which UUIDv7 sort by."""
    return CheckConstraint(condition=Q(**{f"{first}__lt": F(second)}), name=f"%(class)s_{first}_before")


def distinct_check(first: str, second: str) -> CheckConstraint:
    """Two columns that differ, such as the ends of an edge."""
    return CheckConstraint(condition=~Q(**{first: F(second)}), name=f"%(class)s_{first}_apart")
