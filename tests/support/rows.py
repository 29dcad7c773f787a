"""A valid row of any table, built from the models themselves."""

import hashlib
import itertools
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.postgres.fields import ArrayField
from django.db import models
from pgvector.django import VectorField

from memories.db.ids import derived_id, uuid7
from memories.models import Entity, EntityAlias, Membership, Memory, Namespace, ReviewItem
from memories.models.references import Reference
from memories.text.name_index import store_entities
from scoring.dedup import normalize

TABLES = list(apps.get_app_config("memories").get_models())
NAMESPACED = [model for model in TABLES if model not in (Namespace, Membership)]
TIMESTAMP = datetime(2026, 3, 2, 12, tzinfo=UTC)
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)
_count = itertools.count()


def review_item(namespace: Namespace, one: Memory, other: Memory) -> ReviewItem:
    first, second = sorted((one.id, other.id))
    return ReviewItem.objects.create(namespace=namespace, first_id=first, second_id=second, cosine=0.9)


def empty_namespace(slug: str) -> Namespace:
    """Create an empty namespace."""
    return Namespace.objects.create(slug=slug, title=slug.title())


def store_entity(namespace: Namespace, name: str, kind: str = "", *aliases: str, **columns: Any) -> Entity:
    """Store an entity that is found by its name and aliases."""
    entity = Entity(namespace=namespace, name=name, normalised=normalize(name), kind=kind, **columns)
    store_entities(namespace, [entity], [new_alias(entity, alias) for alias in aliases])
    return entity


def add_alias(entity: Entity, alias: str) -> None:
    """Add another name to an entity that is stored."""
    store_entities(entity.namespace, [], [new_alias(entity, alias)])


def new_alias(entity: Entity, alias: str) -> EntityAlias:
    """Another name of an entity, not stored yet."""
    return EntityAlias(namespace=entity.namespace, entity=entity, name=alias, normalised=normalize(alias))


def references(model: type[models.Model]) -> list[Reference[Any]]:
    """List the relations of a table to its own namespace."""
    return [field for field in model._meta.get_fields() if isinstance(field, Reference)]


def reference_params() -> Iterator[Any]:
    """Give every relation within a namespace, as a test parameter."""
    for model in NAMESPACED:
        for reference in references(model):
            yield pytest.param(model, reference, id=f"{model.__name__}.{reference.name}")


def row(model: type[Any], namespace: Namespace, **given: Any) -> Any:
    """Store a row of a table, with the rows it needs."""
    values = {"namespace": namespace, **given}
    for reference in references(model):
        if not reference.null and not {reference.name, reference.id_name} & set(given):
            # The first of a pair is the older one, whatever the other may be.
            old = {"id": derived_id(LONG_AGO, str(next(_count)))} if reference.name == "first" else {}
            values[reference.name] = row(reference.related_model, namespace, **old)
    taken = {*values, *(reference.id_name for reference in references(model))}
    for field in model._meta.concrete_fields:
        if field.name not in taken and not field.null and not field.blank and not field.has_default():
            values[field.name] = some_value(field)
    return model.objects.create(**values)


def some_value(field: "models.Field[Any, Any]") -> Any:
    """Invent a value that a column takes, another one each time where it is text or bytes."""
    if field.choices:
        return field.choices[0][0]
    number = next(_count)
    if field in field.model._meta.pk_fields and isinstance(field, models.PositiveIntegerField):
        return number
    if field.remote_field and field.remote_field.model is get_user_model():
        return get_user_model().objects.create(username=f"user {number}")
    by_type: dict[type, Any] = {
        models.CharField: f"{field.name} {number}",
        models.TextField: f"{field.name} {number}",
        models.BinaryField: hashlib.sha256(str(number).encode()).digest(),
        models.BooleanField: True,
        models.FloatField: 0.5,
        models.PositiveIntegerField: 1,
        models.PositiveSmallIntegerField: 1,
        models.DateTimeField: TIMESTAMP,
        models.DateField: date(2026, 3, 2),
        ArrayField: [uuid7()],
        VectorField: [1.0, 0.0, 0.0],
    }
    return by_type[type(field)]
