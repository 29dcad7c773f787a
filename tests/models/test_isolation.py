"""No row refers across namespaces, and rows are deleted with what they belong to."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, models, transaction
from psycopg.errors import ForeignKeyViolation

from memories.models import Memory, MemoryEdge, Namespace
from tests.support.rows import NAMESPACED, empty_namespace, reference_params, references, row

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("model", "reference"), reference_params())
def test_the_database_refuses_a_reference_across_namespaces(model: type[models.Model], reference: Any) -> None:
    here, there = empty_namespace("here"), empty_namespace("there")
    foreign = row(reference.related_model, there)
    with pytest.raises(IntegrityError) as refusal:
        row(model, here, **{reference.id_name: foreign.id})
    assert isinstance(refusal.value.__cause__, ForeignKeyViolation)
    assert refusal.value.__cause__.diag.constraint_name == f"{model._meta.model_name}_{reference.name}_fk"


@pytest.mark.parametrize(("model", "reference"), reference_params())
def test_a_reference_across_namespaces_is_refused_when_it_is_set(model: type[models.Model], reference: Any) -> None:
    here, there = empty_namespace("here"), empty_namespace("there")
    foreign = row(reference.related_model, there)
    with pytest.raises(ValueError, match="must be in namespace"):
        model(namespace=here, **{reference.name: foreign})


@pytest.mark.parametrize("model", NAMESPACED)
def test_the_database_refuses_a_row_of_no_namespace(model: type[Any]) -> None:
    stray = Namespace(slug="never-stored", title="Never stored")
    with pytest.raises(IntegrityError, match="violates foreign key constraint"):
        row(model, stray)


def test_setting_a_relation_sets_its_column_and_the_namespace() -> None:
    memory, other = (row(Memory, empty_namespace(slug)) for slug in ("here", "there"))
    edge = MemoryEdge(source=memory)
    assert (edge.namespace_id, edge.source_id) == (memory.namespace_id, memory.id)
    with pytest.raises(ValueError, match=r"MemoryEdge\.target must be in"):
        edge.target = other


def test_clearing_a_relation_leaves_the_namespace() -> None:
    memory = row(Memory, empty_namespace("here"))
    memory.superseded_by = row(Memory, memory.namespace)
    memory.superseded_by = None
    assert memory.superseded_by_id is None
    assert memory.superseded_by is None
    assert memory.namespace.slug == "here"
    assert Memory(namespace=memory.namespace, subject=None).namespace_id == memory.namespace_id


def test_a_relation_follows_its_column() -> None:
    first, second, third = (row(Memory, namespace) for namespace in [empty_namespace("here")] * 3)
    first.superseded_by = second
    first.superseded_by_id = third.id
    assert first.superseded_by == third
    first.superseded_by_id = None
    assert first.superseded_by is None


def test_a_relation_that_leads_nowhere_says_so() -> None:
    with pytest.raises(MemoryEdge.source.RelatedObjectDoesNotExist, match="MemoryEdge has no source"):
        _ = MemoryEdge().source
    with pytest.raises(Memory.DoesNotExist):
        _ = MemoryEdge(namespace=empty_namespace("here"), source_id=uuid4()).source


@pytest.mark.parametrize(
    ("model", "reference"),
    [wall for wall in reference_params() if wall.values[1].cascade],
)
def test_a_row_goes_with_what_it_belongs_to(model: type[Any], reference: Any) -> None:
    namespace = empty_namespace("here")
    owner = row(reference.related_model, namespace)
    kept = row(model, namespace)
    owned = row(model, namespace, **{reference.name: owner})
    remove(owner)
    assert list(model.objects.within(namespace).exclude(pk=kept.pk)) == []
    assert owned.pk != kept.pk


@pytest.mark.parametrize(
    ("model", "reference"),
    [wall for wall in reference_params() if not wall.values[1].cascade],
)
def test_a_row_that_others_only_point_at_is_not_lost_to_them(model: type[Any], reference: Any) -> None:
    namespace = empty_namespace("here")
    target = row(reference.related_model, namespace)
    row(model, namespace, **{reference.name: target})
    with pytest.raises(IntegrityError, match=f"{model._meta.model_name}_{reference.name}_fk"):
        remove(target)


def test_a_successor_is_purged_after_its_predecessors_are_archived() -> None:
    old, new = (row(Memory, namespace) for namespace in [empty_namespace("here")] * 2)
    memories = Memory.objects.within(old.namespace)
    memories.filter(id=old.id).update(status="superseded", superseded_by_id=new.id)
    with pytest.raises(IntegrityError, match="memory_superseded_by_fk"), transaction.atomic():
        memories.filter(id=new.id).delete()
    with pytest.raises(IntegrityError, match="memory_superseded_by_one"), transaction.atomic():
        memories.filter(superseded_by_id=new.id).update(superseded_by_id=None)
    purged = "what replaced it was purged"
    memories.filter(superseded_by_id=new.id).update(status="archived", superseded_by_id=None, reason=purged)
    memories.filter(id=new.id).delete()
    assert list(memories.values_list("id", "status", "reason")) == [(old.id, "archived", purged)]


def test_a_namespace_goes_with_memories_that_gave_way_to_one_another() -> None:
    old, new = (row(Memory, namespace) for namespace in [empty_namespace("here")] * 2)
    row(Memory, old.namespace, status="merged", merged_into=old)
    Memory.objects.within(old.namespace).filter(id=old.id).update(status="superseded", superseded_by_id=new.id)
    old.namespace.delete()
    assert not Memory.objects.exists()


def remove(target: models.Model) -> None:
    """Delete a row as the database would, written once or not."""
    with connection.cursor() as cursor:
        table = connection.ops.quote_name(target._meta.db_table)
        cursor.execute(f"DELETE FROM {table} WHERE namespace_id = %s AND id = %s", target.pk)


def test_deleting_a_namespace_removes_everything_in_it_and_nothing_else() -> None:
    here, there = empty_namespace("here"), empty_namespace("there")
    for model in NAMESPACED:
        for namespace in (here, there):
            related = {
                reference.name: row(reference.related_model, namespace)
                for reference in references(model)
                if reference.related_model is not model
            }
            row(model, namespace, **related)
    before = {model: model.objects.within(there).count() for model in NAMESPACED}
    here.delete()
    assert {model: model.objects.count() for model in NAMESPACED} == before
    assert Namespace.objects.get() == there
