"""What every table of a namespace has: a key that begins with the namespace, and queries that carry it."""

from typing import TYPE_CHECKING, Any, Self, TypeVar

from django.db import models
from django.db.models.constants import LOOKUP_SEP
from django.db.models.expressions import ResolvedOuterRef
from django.db.models.sql import Query
from django.db.models.sql.where import AND

from memories.db.ids import uuid7
from memories.models.references import Reference, constrain

if TYPE_CHECKING:
    from memories.models.namespace import Namespace

M = TypeVar("M", bound=models.Model, covariant=True)


class NamespaceKey(models.ForeignKey["Namespace", "Namespace"]):
    """The namespace a row lies in; the database deletes the row with it."""

    def __init__(self, **kwargs: Any) -> None:
        # Every primary key begins with this column, so an index of its own would be one too many.
        fixed = {"to": "memories.Namespace", "on_delete": models.DO_NOTHING, "related_name": "+"}
        super().__init__(**(kwargs | fixed | {"db_constraint": False, "db_index": False}))

    def contribute_to_class(
        self, cls: type[models.Model], name: str, private_only: bool = False, **kwargs: Any
    ) -> None:
        super().contribute_to_class(cls, name, private_only, **kwargs)
        # A row that cannot be without another of its namespace is held there by that reference, and goes with it.
        if not any(isinstance(field, Reference) and field.holds for field in cls._meta.local_fields):
            constrain(cls, name, (name,), "memories.namespace")

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, path, _, _ = super().deconstruct()
        return name, path, [], {}


class NamespacedQuery(Query):
    """SQL whose subqueries carry the namespace as well."""

    def trim_start(self, names_with_path: Any) -> tuple[str, bool]:
        """Tie an excluding subquery by all columns of a relation: Django itself compares the first alone."""
        prefix, outer_joined = super().trim_start(names_with_path)
        path = LOOKUP_SEP.join([*prefix.split(LOOKUP_SEP)[:-1], "namespace"])
        others: Any = self.select[1:]
        for column in others:
            self.where.add(column.target.get_lookup("exact")(column, ResolvedOuterRef(path)), AND)
        return prefix, outer_joined


class NamespacedQuerySet(models.QuerySet[M]):
    """Rows of namespaces: always begin with `within`."""

    def __init__(self, model: type[models.Model] | None = None, query: Query | None = None, **kwargs: Any) -> None:
        super().__init__(model, query or NamespacedQuery(model), **kwargs)

    def within(self, namespace: "Namespace") -> Self:
        """Keep to one namespace."""
        return self.filter(namespace=namespace)


class InNamespace(models.Model):
    """A row of a namespace whose key is natural and begins with the namespace."""

    namespace = NamespaceKey()

    objects = NamespacedQuerySet.as_manager()

    class Meta:
        abstract = True


class Namespaced(InNamespace):
    """A row of a namespace, found by (namespace, id)."""

    pk = models.CompositePrimaryKey("namespace_id", "id")
    id = models.UUIDField(default=uuid7, editable=False)

    class Meta:
        abstract = True
