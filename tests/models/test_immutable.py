"""History and published versions are written once."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from memories.models import Memory, ProfileVersion, Publication, ScoreEvent
from memories.models.immutable import Immutable, ImmutableError
from tests.support.rows import NAMESPACED, empty_namespace, row

pytestmark = pytest.mark.django_db

WRITTEN_ONCE = [model for model in NAMESPACED if issubclass(model, Immutable)]


def test_history_versions_and_traces_are_written_once() -> None:
    names = {model.__name__ for model in WRITTEN_ONCE}
    assert names == {"Evaluation", "ProfileVersion", "Publication", "ScoreEvent", "Trace", "WritePolicyVersion"}


@pytest.mark.parametrize("model", WRITTEN_ONCE)
@pytest.mark.parametrize(
    "attempt",
    [
        lambda model, stored: stored.save(),
        lambda model, stored: model.objects.within(stored.namespace).get().save(update_fields=["id"]),
        lambda model, stored: stored.delete(),
        lambda model, stored: model.objects.within(stored.namespace).update(id=stored.id),
        lambda model, stored: model.objects.within(stored.namespace).delete(),
        lambda model, stored: model.objects.bulk_update([stored], [field_of(model)]),
        lambda model, stored: model.objects.update_or_create(pk=stored.pk, defaults={field_of(model): None}),
        lambda model, stored: model.objects.bulk_create(
            [stored], update_conflicts=True, unique_fields=["namespace", "id"], update_fields=[field_of(model)]
        ),
    ],
    ids=["save", "save a field", "delete", "update", "delete many", "bulk update", "update or create", "upsert"],
)
def test_what_is_written_once_can_be_neither_changed_nor_removed(model: type[Any], attempt: Any) -> None:
    stored = row(model, empty_namespace("here"))
    refusal = f"{model.__name__} rows are written once: add a new one instead"
    with pytest.raises(ImmutableError, match=refusal), transaction.atomic():
        attempt(model, stored)
    assert model.objects.within(stored.namespace).get() == stored


def field_of(model: type[Any]) -> str:
    """Name a column that is no part of the key."""
    return next(field.name for field in model._meta.concrete_fields if field.name not in ("namespace", "id"))


@pytest.mark.parametrize("model", WRITTEN_ONCE)
def test_what_is_written_once_is_erased_by_name_and_only_where_it_was_chosen(model: type[Any]) -> None:
    erased, kept = (row(model, namespace) for namespace in [empty_namespace("here")] * 2)
    elsewhere = row(model, empty_namespace("there"))
    assert model.objects.within(erased.namespace).filter(id=erased.id).erase() == 1
    assert {found.pk for found in model.objects.all()} == {kept.pk, elsewhere.pk}
    assert not hasattr(model.objects, "erase")


def test_a_version_is_not_overwritten_by_another_of_the_same_key() -> None:
    stored = row(ProfileVersion, empty_namespace("here"))
    with pytest.raises(IntegrityError, match="duplicate key"):
        ProfileVersion(pk=stored.pk, profile=stored.profile, number=2, system="blend").save()


def test_many_events_are_added_at_once() -> None:
    memory = row(Memory, empty_namespace("here"))
    ScoreEvent.objects.bulk_create([ScoreEvent(memory=memory, cause=cause) for cause in ("stored", "confirmed")])
    assert [event.cause for event in memory.events.order_by("id")] == ["stored", "confirmed"]


def test_what_was_published_last_serves() -> None:
    namespace = empty_namespace("here")
    assert namespace.serving is None
    first, second = (row(ProfileVersion, namespace) for _ in range(2))
    for version in (first, second, first):
        Publication.objects.create(namespace=namespace, profile_version=version)
        assert namespace.serving.profile_version == version
    assert Publication.objects.within(namespace).count() == 3
    assert empty_namespace("there").serving is None
