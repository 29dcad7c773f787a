"""Relations inside a namespace: Django joins and Postgres constrains both columns, (namespace, id)."""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.ddl_references import Columns, Statement, Table
from django.db.models import DO_NOTHING, BaseConstraint, ForeignObject, Model
from django.db.models.fields.related_descriptors import ForwardManyToOneDescriptor

T = TypeVar("T")

if TYPE_CHECKING:
    Descriptor = ForwardManyToOneDescriptor["Reference[Any]"]

    class Relation(ForeignObject[T, T]): ...
else:
    Descriptor = ForwardManyToOneDescriptor

    class Relation(ForeignObject, Generic[T]): ...


class ForeignKeyConstraint(BaseConstraint):
    """A foreign key over any number of columns, as a constraint that migrations track."""

    # Checked per statement, unlike Django's own: an invalid row of a batch fails in its savepoint, not at commit.
    template = (
        "ALTER TABLE %(table)s ADD CONSTRAINT %(name)s FOREIGN KEY (%(columns)s) "
        "REFERENCES %(to_table)s (%(to_columns)s)%(on_delete)s DEFERRABLE INITIALLY IMMEDIATE"
    )

    def __init__(
        self, *, name: str, fields: tuple[str, ...], to: str, to_fields: tuple[str, ...], cascade: bool = True
    ) -> None:
        super().__init__(name=name)
        self.fields, self.to, self.to_fields, self.cascade = tuple(fields), to, tuple(to_fields), cascade

    def constraint_sql(self, model: Any, schema_editor: BaseDatabaseSchemaEditor | None) -> Any:
        """Defer to the end of the migration, which may create the referenced table later."""
        assert schema_editor is not None
        schema_editor.deferred_sql.append(self.create_sql(model, schema_editor))

    def create_sql(self, model: Any, schema_editor: Any) -> Any:
        target = model._meta.apps.get_model(self.to)
        quote = schema_editor.quote_name
        return Statement(
            self.template,
            name=quote(self.name),
            table=Table(model._meta.db_table, quote),
            columns=Columns(model._meta.db_table, column_names(model, self.fields), quote),
            to_table=Table(target._meta.db_table, quote),
            to_columns=Columns(target._meta.db_table, column_names(target, self.to_fields), quote),
            on_delete=" ON DELETE CASCADE" if self.cascade else "",
        )

    def remove_sql(self, model: Any, schema_editor: Any) -> Any:
        quote = schema_editor.quote_name
        table = Table(model._meta.db_table, quote)
        return Statement(schema_editor.sql_delete_fk, table=table, name=quote(self.name))

    def validate(self, *args: Any, **kwargs: Any) -> None:
        """Only the database sees concurrently written rows."""

    def deconstruct(self) -> tuple[str, tuple[()], dict[str, Any]]:
        path, _, kwargs = super().deconstruct()
        kwargs |= {"fields": self.fields, "to": self.to, "to_fields": self.to_fields}
        return path, (), kwargs if self.cascade else kwargs | {"cascade": False}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ForeignKeyConstraint) and self.deconstruct() == other.deconstruct()


class ReferenceDescriptor(Descriptor):
    """The referenced row as an attribute, in sync with its id column; never changes the namespace."""

    def __get__(self, instance: Any, cls: type[Model] | None = None) -> Any:
        if instance is not None and self.field.is_cached(instance):
            cached = self.field.get_cached_value(instance)
            if getattr(cached, "id", None) != getattr(instance, self.field.id_name):
                self.field.delete_cached_value(instance)
        return super().__get__(instance, cls)

    def __set__(self, instance: Any, value: Any) -> None:
        if value is None:
            setattr(instance, self.field.id_name, None)
            return self.field.set_cached_value(instance, None)
        if instance.namespace_id not in (None, getattr(value, "namespace_id", None)):
            raise ValueError(f"{self.field} must be in namespace {instance.namespace_id}; got {value!r}")
        return super().__set__(instance, value)


class Reference(Relation[T]):
    """A relation to a row of the same namespace, over the column `<name>_id` declared before it."""

    forward_related_accessor_class = ReferenceDescriptor

    def __init__(self, to: type[T] | str, *, related_name: str, cascade: bool = True, **kwargs: Any) -> None:
        self.cascade = cascade
        # The id comes first: Django checks only the first column for null.
        kwargs |= {"on_delete": DO_NOTHING, "from_fields": (), "to_fields": ("id", "namespace")}
        super().__init__(to, related_name=related_name, **kwargs)  # type: ignore[arg-type]

    @property
    def id_name(self) -> str:
        """The column of the referenced row's id."""
        return f"{self.name}_id"

    @property
    def is_owner(self) -> bool:
        """Whether every row has this relation and is deleted with the referenced row."""
        return self.cascade and not self.null

    def contribute_to_class(self, cls: type[Model], name: str, private_only: bool = False, **kwargs: Any) -> None:
        self.from_fields = (f"{name}_id", "namespace")
        # The id column decides whether the relation is nullable, and so the kind of join. Models declare it before the
        # relation; in a migration it may come later.
        self.null = self.blank = next((f.null for f in cls._meta.local_fields if f.name == f"{name}_id"), True)
        super().contribute_to_class(cls, name, private_only, **kwargs)
        to = self.remote_field.model
        label = to if isinstance(to, str) else to._meta.label
        add_foreign_key(
            cls, name, ("namespace", f"{name}_id"), cls._meta.label if label == "self" else label, self.cascade
        )

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, path, args, kwargs = super().deconstruct()
        for argument in ("on_delete", "from_fields", "to_fields", "null", "blank"):
            kwargs.pop(argument, None)
        return name, path, list(args), kwargs if self.cascade else kwargs | {"cascade": False}


def add_foreign_key(cls: type[Model], name: str, fields: tuple[str, ...], to: str, cascade: bool = True) -> None:
    """Add a relation's foreign key to its model's constraints."""
    # Models in a migration's state already have them.
    if cls._meta.abstract or cls.__module__ == "__fake__":
        return
    label = to if "." in to else f"{cls._meta.app_label}.{to}"
    key = ForeignKeyConstraint(
        name=f"{cls._meta.model_name}_{name}_fk",
        fields=fields,
        to=label.lower(),
        to_fields=("namespace", "id")[-len(fields) :],
        cascade=cascade,
    )
    cls._meta.constraints = cls._meta.original_attrs["constraints"] = [*cls._meta.constraints, key]


def column_names(model: type[Model], names: tuple[str, ...]) -> list[str]:
    """The columns of some fields."""
    fields = {field.name: field for field in model._meta.concrete_fields}
    return [str(fields[name].column) for name in names]
