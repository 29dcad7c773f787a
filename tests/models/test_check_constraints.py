"""Check constraints refuse what no formula may meet."""

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, models, transaction
from psycopg.errors import CheckViolation, UniqueViolation

from memories.models import (
    ApiKey,
    IdempotencyRecord,
    Membership,
    Memory,
    MemoryEdge,
    MemorySource,
    Namespace,
    ReviewItem,
    Session,
    SessionReturn,
    Turn,
)
from tests.support.rows import NAMESPACED, TABLES, TIMESTAMP, empty_namespace, row

pytestmark = pytest.mark.django_db

LATER = TIMESTAMP + timedelta(seconds=1)
# What no rule of its own can make up: for each further check, values that break it.
BROKEN: dict[str, tuple[type[models.Model], dict[str, Any]]] = {
    "apikey_hash_length": (ApiKey, {"hash": b"short"}),
    "idempotencyrecord_request_hash_length": (IdempotencyRecord, {"request_hash": b"short"}),
    "memory_content_hash_length": (Memory, {"content_hash": b"x" * 33}),
    "memory_event_at_first": (Memory, {"event_at": LATER, "event_until": TIMESTAMP}),
    "memory_valid_from_first": (Memory, {"valid_from": LATER, "valid_until": TIMESTAMP}),
    "memory_merged_somewhere": (Memory, {"status": "merged"}),
    "memory_superseded_by_one": (Memory, {"status": "superseded"}),
    "reviewitem_verdict_dated": (ReviewItem, {"state": "distinct"}),
}
# Those that need a row to point at are tested below, one by one.
BY_HAND = {
    "memory_subject_one_way",
    "memory_merged_into_id_apart",
    "memory_superseded_by_id_apart",
    "memoryedge_source_id_apart",
    "memoryedge_later_contradicts",
    "reviewitem_first_id_before",
}


def checks() -> Iterator[tuple[type[models.Model], models.CheckConstraint]]:
    """List every check of every table."""
    for model in TABLES:
        for constraint in model._meta.constraints:
            if isinstance(constraint, models.CheckConstraint):
                yield model, constraint


def ranges() -> Iterator[Any]:
    """Give each column that is kept within a range, and the range."""
    for model, constraint in checks():
        if constraint.name.endswith("_range"):
            ((lookup, (low, high)),) = constraint.condition.children
            field = model._meta.get_field(lookup.removesuffix("__range"))
            yield pytest.param(model, field, low, high, constraint.name, id=constraint.name)


def vocabularies() -> Iterator[Any]:
    """Give each column that is kept to a vocabulary."""
    for model, constraint in checks():
        if constraint.name.endswith("_known") and model in NAMESPACED:
            ((lookup, words),) = constraint.condition.children
            yield pytest.param(model, lookup.removesuffix("__in"), words, constraint.name, id=constraint.name)


def counts() -> Iterator[Any]:
    """Give each column that counts something."""
    for model in NAMESPACED:
        for field in model._meta.concrete_fields:
            if "Positive" in field.get_internal_type():
                yield pytest.param(model, field.name, id=f"{model.__name__}.{field.name}")


def assert_refused(name: str, model: type[Any], values: dict[str, Any], namespace: Namespace | None = None) -> None:
    """Expect the database to refuse a row, naming the check."""
    with pytest.raises(IntegrityError) as refusal:
        row(model, namespace or empty_namespace("here"), **values)
    assert isinstance(refusal.value.__cause__, CheckViolation)
    assert name in (refusal.value.__cause__.diag.constraint_name or "")


@pytest.mark.parametrize(("model", "field", "low", "high", "name"), ranges())
def test_the_ends_of_a_range_are_stored(model: type[Any], field: Any, low: float, high: float, name: str) -> None:
    for slug, edge in (("here", low), ("there", high)):
        assert getattr(row(model, empty_namespace(slug), **{field.name: edge}), field.name) == edge


@pytest.mark.parametrize(("model", "field", "low", "high", "name"), ranges())
def test_what_lies_beyond_a_range_is_refused(model: type[Any], field: Any, low: float, high: float, name: str) -> None:
    if not isinstance(field, models.FloatField):
        return assert_refused(name, model, {field.name: high + 1})
    namespace = empty_namespace("here")
    beyond = [math.nextafter(low, -math.inf), math.nextafter(high, math.inf), math.inf, -math.inf, math.nan]
    for value in beyond:
        with transaction.atomic():
            assert_refused(name, model, {field.name: value}, namespace)
    return None


@pytest.mark.parametrize(("model", "field", "words", "name"), vocabularies())
def test_a_word_outside_a_vocabulary_is_refused(model: type[Any], field: str, words: list[str], name: str) -> None:
    assert "nonsense" not in words
    assert_refused(name, model, {field: "nonsense"})


@pytest.mark.parametrize(("model", "field"), counts())
def test_a_count_below_zero_is_refused(model: type[Any], field: str) -> None:
    assert_refused(f"{field}_", model, {field: -1})


@pytest.mark.parametrize("name", BROKEN)
def test_a_row_that_contradicts_itself_is_refused(name: str) -> None:
    assert_refused(name, *BROKEN[name])


def test_a_subject_is_resolved_or_not_but_never_both() -> None:
    memory = row(Memory, empty_namespace("here"))
    subject = row(Memory._meta.get_field("subject").related_model, memory.namespace)
    values = {"subject": subject, "subject_fallback": subject.id}
    assert_refused("memory_subject_one_way", Memory, values, memory.namespace)


@pytest.mark.parametrize("field", ["merged_into_id", "superseded_by_id"])
def test_a_memory_cannot_give_way_to_itself(field: str) -> None:
    memory = row(Memory, empty_namespace("here"))
    setattr(memory, field, memory.id)
    with pytest.raises(IntegrityError, match=f"memory_{field}_apart"):
        memory.save()


def test_a_pair_is_of_two() -> None:
    memory = row(Memory, empty_namespace("here"))
    same = {"source": memory, "target": memory}
    with transaction.atomic():
        assert_refused("memoryedge_source_id_apart", MemoryEdge, same, memory.namespace)
    same = {"first": memory, "second": memory}
    assert_refused("reviewitem_first_id_before", ReviewItem, same, memory.namespace)


def test_a_pair_waits_for_review_the_older_one_first() -> None:
    older, newer = (row(Memory, namespace) for namespace in [empty_namespace("here")] * 2)
    row(ReviewItem, older.namespace, first=older, second=newer)
    turned = {"first": newer, "second": older}
    assert_refused("reviewitem_first_id_before", ReviewItem, turned, older.namespace)


def test_the_later_memory_contradicts_the_earlier_one() -> None:
    older, newer = (row(Memory, namespace) for namespace in [empty_namespace("here")] * 2)
    row(MemoryEdge, older.namespace, source=newer, target=older, kind="contradiction")
    turned = {"source": older, "target": newer}
    row(MemoryEdge, older.namespace, kind="supports", **turned)
    assert_refused("memoryedge_later_contradicts", MemoryEdge, turned | {"kind": "contradiction"}, older.namespace)


@pytest.mark.parametrize(("model", "values"), [(Namespace, {"slug": "x", "mode": "nonsense"})])
def test_a_namespace_of_an_unknown_mode_is_refused(model: type[Any], values: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError, match="namespace_mode_known"):
        model.objects.create(**values)


def test_a_member_of_an_unknown_role_is_refused(django_user_model: type[Any]) -> None:
    with pytest.raises(IntegrityError, match="membership_role_known"):
        Membership.objects.create(
            namespace=empty_namespace("here"), user=django_user_model.objects.create(username="maya"), role="owner"
        )


def test_every_check_is_tested() -> None:
    tested = {case.values[-1] for case in (*ranges(), *vocabularies())} | set(BROKEN) | BY_HAND
    assert {constraint.name for _, constraint in checks()} == tested | {"namespace_mode_known", "membership_role_known"}


def test_the_same_active_memory_is_stored_once_in_a_namespace_and_again_in_another() -> None:
    first = row(Memory, empty_namespace("here"))
    twin = {"content_hash": first.content_hash}
    row(Memory, empty_namespace("there"), **twin)
    row(Memory, first.namespace, status="rejected", **twin)
    row(Memory, first.namespace, status="merged", merged_into=first, **twin)
    assert_taken("memory_active_once", Memory, first.namespace, **twin)


def assert_taken(name: str, model: type[Any], namespace: Namespace, **values: Any) -> None:
    """Expect the database to refuse a row that is there already."""
    with pytest.raises(IntegrityError) as refusal, transaction.atomic():
        row(model, namespace, **values)
    assert isinstance(refusal.value.__cause__, UniqueViolation)
    assert refusal.value.__cause__.diag.constraint_name == name


def test_two_users_may_give_their_sessions_the_same_name_but_one_user_may_not() -> None:
    namespace = empty_namespace("here")
    for user in ("maya", "priya", ""):
        row(Session, namespace, user=user, key="default")
        assert_taken("session_key_once", Session, namespace, user=user, key="default")


def test_what_one_users_session_was_told_another_users_was_not() -> None:
    memory = row(Memory, empty_namespace("here"))
    for user in ("maya", "priya"):
        row(SessionReturn, memory.namespace, memory=memory, user=user, session="default")
    told = {"memory": memory, "user": "maya", "session": "default"}
    assert_taken("memories_sessionreturn_pkey", SessionReturn, memory.namespace, **told)


def test_one_observation_of_a_memory_is_stored_once() -> None:
    memory = row(Memory, empty_namespace("here"))
    turn = row(Turn, memory.namespace)
    other = row(Session, memory.namespace)
    said = {"session": turn.session, "turn": turn}
    row(MemorySource, memory.namespace, memory=memory, **said)
    assert_taken("memorysource_turn_once", MemorySource, memory.namespace, memory=memory, **said)
    observations: list[dict[str, Any]] = [
        {"session": turn.session},
        {"session": other},
        {"source": "handbook.pdf"},
        {"source": "support agent"},
        {"session": other, "source": "handbook.pdf"},
        {},
    ]
    for observed in observations:
        row(MemorySource, memory.namespace, memory=memory, **observed)
        once = "memorysource_session_or_source_once"
        assert_taken(once, MemorySource, memory.namespace, memory=memory, **observed)
    row(MemorySource, memory.namespace, memory=row(Memory, memory.namespace), **observations[2])
