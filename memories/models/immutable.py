"""Rows that are never updated: history, published versions, traces."""

from collections.abc import Iterable
from typing import Any, NoReturn

from django.db import models

from memories.models.keys import M, Namespaced, NamespacedQuerySet


class ImmutableError(TypeError):
    """An attempt to update or delete an immutable row."""

    def __init__(self, model: type[models.Model]) -> None:
        super().__init__(f"{model.__name__} rows are written once: add a new one instead")


class ImmutableQuerySet(NamespacedQuerySet[M]):
    """Rows that can be inserted, read and erased, but not updated or deleted."""

    def update(self, **values: Any) -> NoReturn:
        raise ImmutableError(self.model)

    def delete(self) -> NoReturn:
        raise ImmutableError(self.model)

    def erase(self) -> int:
        """Delete the rows for good, such as for an erasure request, and return how many."""
        count, _ = super().delete()
        return count

    # As for Django's `delete`: not on the manager, so the rows must be filtered first.
    erase.queryset_only = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Iterable[Any], *args: Any, update_conflicts: bool = False, **kwargs: Any) -> list[Any]:
        if update_conflicts:
            raise ImmutableError(self.model)
        return super().bulk_create(objs, *args, **kwargs)


class Immutable(Namespaced):
    """An immutable row; it is deleted only with its memory, its namespace, or by `erase`."""

    objects = ImmutableQuerySet.as_manager()  # type: ignore[misc]  # narrower than the base's

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert the row; an existing one cannot be saved."""
        if not self._state.adding:
            raise ImmutableError(type(self))
        super().save(*args, **(kwargs | {"force_insert": True}))

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ImmutableError(type(self))
