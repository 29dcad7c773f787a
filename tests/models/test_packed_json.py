"""A packed object comes back as JSON has it, however it was stored."""

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.core import serializers
from django.db import connection
from hypothesis import given
from hypothesis import strategies as some

from memories.db.json_codec import pack_json, unpack_json
from memories.models import Trace
from tests.support.rows import empty_namespace, row

pytestmark = pytest.mark.django_db
SCALARS = some.none() | some.booleans() | some.integers(-(2**53), 2**53) | some.floats(allow_nan=False) | some.text()
SAFE = SCALARS.filter(lambda one: not isinstance(one, str) or one.isprintable())
OBJECTS = some.dictionaries(
    some.sampled_from(["results", "plan", "late"]),
    some.recursive(SAFE, lambda inner: some.lists(inner, max_size=3), max_leaves=9),
)


@given(OBJECTS)
def test_an_object_comes_back_as_it_was(value: dict[str, object]) -> None:
    finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
    assert unpack_json(pack_json(finite)) == finite


def test_ids_and_timestamps_are_stored_as_json_writes_them() -> None:
    answer = {"id": UUID(int=7), "as_of": datetime(2026, 3, 1, 9, 0, 0, 123456, tzinfo=UTC)}
    kept = Trace.objects.get(id=row(Trace, empty_namespace("here"), answer=answer).id)
    assert kept.answer == {"id": str(UUID(int=7)), "as_of": "2026-03-01T09:00:00.123Z"}


def test_the_words_of_an_answer_are_stored_in_less_room_than_they_take() -> None:
    answer = {"results": [{"content": "Maya drinks her coffee black and early", "rank": rank} for rank in range(10)]}
    row(Trace, empty_namespace("here"), answer=answer)
    with connection.cursor() as cursor:
        cursor.execute("SELECT length(answer) FROM memories_trace")
        assert cursor.fetchone()[0] < len(json.dumps(answer)) / 3


def test_a_fixture_tells_the_object_and_takes_it_back() -> None:
    kept = row(Trace, empty_namespace("here"), answer={"results": [], "reason": "“nothing”"})
    [one] = serializers.deserialize("json", serializers.serialize("json", [kept]))
    assert one.object.answer == kept.answer
