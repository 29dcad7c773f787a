"""Base classes of tables in a namespace: primary keys that start with it, and queries that filter by it."""

from typing import TYPE_CHECKING, Any, Self, TypeVar

from django.db import models
from django.db.models.constants import LOOKUP_SEP
from django.db.models.expressions import ResolvedOuterRef
from django.db.models.sql import Query
from django.db.models.sql.where import AND

from memories.db.ids import uuid7
from memories.models.references import Reference, add_foreign_key

if TYPE_CHECKING:
    from memories.models.namespace import Namespace

M = TypeVar("M", bound=models.Model, covariant=True)


class NamespaceKey(models.ForeignKey["Namespace", "Namespace"]):
    """The namespace of a row; the database deletes the row with it."""

    def __init__(self, **kwargs: Any) -> None:
        # Every primary key starts with this column, so it needs no index of its own.
        fixed = {"to": "memories.Namespace", "on_delete": models.DO_NOTHING, "related_name": "+"}
        super().__init__(**(kwargs | fixed | {"db_constraint": False, "db_index": False}))

    def contribute_to_class(
        self, cls: type[models.Model], name: str, private_only: bool = False, **kwargs: Any
    ) -> None:
        super().contribute_to_class(cls, name, private_only, **kwargs)
        # A row with a required, cascading reference inside its namespace needs no foreign key of its own.
        if not any(isinstance(field, Reference) and field.is_owner for field in cls._meta.local_fields):
            add_foreign_key(cls, name, (name,), "memories.namespace")

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, path, _, _ = super().deconstruct()
        return name, path, [], {}


class NamespacedQuery(Query):
    """SQL whose subqueries compare the namespace as well."""

    def trim_start(self, names_with_path: Any) -> tuple[str, bool]:
        """Compare all columns of a relation in an exclude() subquery; Django compares only the first."""
        prefix, outer_joined = super().trim_start(names_with_path)
        path = LOOKUP_SEP.join([*prefix.split(LOOKUP_SEP)[:-1], "namespace"])
        others: Any = self.select[1:]
        for column in others:
            self.where.add(column.target.get_lookup("exact")(column, ResolvedOuterRef(path)), AND)
        return prefix, outer_joined


class NamespacedQuerySet(models.QuerySet[M]):
    """Rows of namespaces; start every query with `within`."""

    def __init__(self, model: type[models.Model] | None = None, query: Query | None = None, **kwargs: Any) -> None:
        super().__init__(model, query or NamespacedQuery(model), **kwargs)

    def within(self, namespace: "Namespace") -> Self:
        """The rows of one namespace."""
        return self.filter(namespace=namespace)


class InNamespace(models.Model):
    """A row of a namespace with a natural key that starts with the namespace."""

    namespace = NamespaceKey()

    objects = NamespacedQuerySet.as_manager()

    class Meta:
        abstract = True


class Namespaced(InNamespace):
    """A row of a namespace with the primary key (namespace, id)."""

    pk = models.CompositePrimaryKey("namespace_id", "id")
    id = models.UUIDField(default=uuid7, editable=False)

    class Meta:
        abstract = True
