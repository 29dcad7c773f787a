"""Records that are written once: history, published versions, traces."""

from collections.abc import Iterable
from typing import Any, NoReturn

from django.db import models

from memories.models.keys import M, Namespaced, NamespacedQuerySet


class ImmutableError(TypeError):
    """Somebody tried to change or remove what is written once."""

    def __init__(self, model: type[models.Model]) -> None:
        super().__init__(f"{model.__name__} rows are written once: add a new one instead")


class ImmutableQuerySet(NamespacedQuerySet[M]):
    """Rows that can be added and read, and erased by name alone."""

    def update(self, **values: Any) -> NoReturn:
        raise ImmutableError(self.model)

    def delete(self) -> NoReturn:
        raise ImmutableError(self.model)

    def erase(self) -> int:
        """Remove the rows for good and count them: the only way to, for what must not be known any more."""
        count, _ = super().delete()
        return count

    # As with Django's own `delete`: the rows must be chosen first, the manager has no such method.
    erase.queryset_only = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Iterable[Any], *args: Any, update_conflicts: bool = False, **kwargs: Any) -> list[Any]:
        if update_conflicts:
            raise ImmutableError(self.model)
        return super().bulk_create(objs, *args, **kwargs)


class Immutable(Namespaced):
    """A row of a namespace that is written once; it goes only with its memory, its namespace or `erase`."""

    objects = ImmutableQuerySet.as_manager()  # type: ignore[misc]  # narrower than the base's

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert the row; one that is there already stays as it is."""
        if not self._state.adding:
            raise ImmutableError(type(self))
        super().save(*args, **(kwargs | {"force_insert": True}))

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ImmutableError(type(self))
