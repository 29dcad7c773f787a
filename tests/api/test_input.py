"""Input is accepted as is, or refused with its field, what is allowed and what was received; nothing is written."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.exceptions import ValidationError

from memories.api.retrieval import RetrieveSerializer
from memories.contracts.json_values import MAX_DEPTH, is_storable, storage_errors
from memories.models import Entity, EntityAlias, IdempotencyRecord
from memories.web.fields import DateTime, Flag, Float, Identifier, Integer, JsonObject, ListOf, OneOf, Text
from memories.web.serializers import StrictObject, valid_values
from memories.web.validation_errors import flatten_errors
from tests.support.access import key_to
from tests.support.problems import problem
from tests.support.rows import empty_namespace

ENTITIES = "/api/v1/here/entities/"
UNKNOWN = "is not a known field; known are name, kind, aliases"
NUL = "must not hold the character U+0000; got one at position 1"
SURROGATE = "must be valid Unicode without lone surrogates; got U+D800 at position 1"

BODIES = [
    ("{}", "name", "is required"),
    ('{"name": null}', "name", "must not be null"),
    ('{"name": ""}', "name", "must not be empty"),
    ('{"name": " \\t"}', "name", "must not be empty"),
    ('{"name": 7}', "name", "must be text; got 7"),
    ('{"name": true}', "name", "must be text; got true"),
    ('{"name": ["Maya"]}', "name", 'must be text; got ["Maya"]'),
    ('{"name": "!?"}', "name", 'must contain more than punctuation and white space; got "!?"'),
    (json.dumps({"name": "é" * 301}), "name", "must have at most 300 characters; got 301"),
    (json.dumps({"name": "ﷺ" * 100}), "name", "must have at most 300 characters in NFKC; got 1800"),
    ('{"name": "M\\u0000"}', "name", NUL),
    ('{"name": "M\\ud800"}', "name", SURROGATE),
    ('{"name": "Maya", "kind": "M\\ud800"}', "kind", SURROGATE),
    ('{"name": "Maya", "kind": null}', "kind", "must not be null"),
    ('{"name": "Maya", "aliases": "M."}', "aliases", 'must be a list; got "M."'),
    ('{"name": "Maya", "aliases": {}}', "aliases", "must be a list; got {}"),
    ('{"name": "Maya", "aliases": ["a", 1]}', "aliases.1", "must be text; got 1"),
    ('{"name": "Maya", "aliases": ["a", "b\\u0000"]}', "aliases.1", NUL),
    (json.dumps({"name": "Maya", "aliases": ["a"] * 51}), "aliases", "must have at most 50 items; got 51"),
    ('{"name": "Maya", "colour": "red"}', "colour", UNKNOWN),
    ('{"name": "Maya", "id": 1}', "id", UNKNOWN),
    ('{"name": "Maya", "c\\u0000": 1}', "body", f"a name {NUL}"),
    ('{"name": "Maya", "kind": NaN}', "kind", "must be a finite number; got nan"),
    ('{"name": "Maya", "kind": [1, -Infinity]}', "kind.1", "must be a finite number; got -inf"),
    ('{"name": "Maya", "kind": 1e999}', "kind", "must be a finite number; got inf"),
    ('["Maya"]', "body", 'must be an object; got ["Maya"]'),
    ('"Maya"', "body", 'must be an object; got "Maya"'),
    ("{", "body", "must be JSON; at line 1, column 2: Expecting property name enclosed in double quotes"),
    ('{"name":\n "Maya" 7}', "body", "must be JSON; at line 2, column 9: Expecting ',' delimiter"),
    ("[" * 200_000, "body", f"must not be nested deeper than {MAX_DEPTH} levels"),
    ('{"name": ' + "1" * 5000 + "}", "body", "must hold no integer of more than 4300 digits"),
    (b'{"name": "\xff"}', "body", "must be UTF-8; got 0xff at byte 10"),
    ('{"name": "Maya"}'.encode("utf-16"), "body", "must be UTF-8; got 0xff at byte 0"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("body", "at", "message"), BODIES, ids=range(len(BODIES)))
def test_a_bad_body_is_a_problem_with_its_place_and_writes_nothing(
    client: Client, body: str | bytes, at: str, message: str
) -> None:
    data = problem(
        client.generic("POST", ENTITIES, body, "application/json", headers=key_to(empty_namespace("here"))), 400
    )
    assert data["errors"] == [{"at": at, "message": message}]
    assert not Entity.objects.exists()
    assert not EntityAlias.objects.exists()
    assert not IdempotencyRecord.objects.exists()


@pytest.mark.django_db
def test_every_mistake_of_a_body_is_named_at_once(client: Client) -> None:
    body = {"kind": 1, "aliases": ["", "ok", 2], "colour": "red"}
    data = problem(client.post(ENTITIES, body, "application/json", headers=key_to(empty_namespace("here"))), 400)
    places = {"name", "kind", "aliases.0", "aliases.2", "colour"}
    assert {error["at"] for error in data["errors"]} == places
    assert all(f"{error['at']}: {error['message']}" in data["detail"] for error in data["errors"])


@pytest.mark.django_db
@pytest.mark.parametrize("body", [{"x" * 100_000: 1}, {"x" * 100_000: "\0"}, ["\0"] * 10_000, ["x"] * 10_000])
def test_a_large_mistake_gets_a_short_answer(client: Client, body: Any) -> None:
    response = client.post(ENTITIES, body, "application/json", headers=key_to(empty_namespace("here")))
    problem(response, 400)
    assert len(response.content) < 20_000


@pytest.mark.django_db
def test_a_body_with_more_mistakes_than_anybody_reads_gets_a_short_answer(client: Client) -> None:
    body = {f"{number}{'x' * 500}": 1 for number in range(1000)}
    response = client.post(ENTITIES, body, "application/json", headers=key_to(empty_namespace("here")))
    data = problem(response, 400)
    assert data["errors"][-1] == {"at": "body", "message": "and 951 more"}
    assert len(response.content) < 30_000


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "at", "message"),
    [
        ("limit=0", "limit", "must be at least 1; got 0"),
        ("limit=201", "limit", "must be at most 200; got 201"),
        ("limit=ten", "limit", 'must be an integer; got "ten"'),
        ("limit=٣", "limit", 'must be an integer; got "٣"'),
        ("limit=1&limit=2", "limit", "must be given once; got 2"),
        ("q=a%00", "q", NUL),
        (f"q={'x' * 301}", "q", "must have at most 300 characters; got 301"),
        ("page=2", "page", "is not a known field; known are limit, cursor, q"),
    ],
)
def test_a_bad_query_string_is_a_problem_with_its_place(client: Client, query: str, at: str, message: str) -> None:
    data = problem(client.get(f"{ENTITIES}?{query}", headers=key_to(empty_namespace("here"))), 400)
    assert data["errors"] == [{"at": at, "message": message}]


@pytest.mark.django_db
def test_a_body_over_the_limit_is_too_large(client: Client, settings: Any) -> None:
    headers = key_to(empty_namespace("here"))
    settings.API_BODY_LIMIT = 40
    body = '{"name": "Maya"}'.ljust(40)
    assert client.generic("POST", ENTITIES, body, "application/json", headers=headers).status_code == 201
    data = problem(client.generic("POST", ENTITIES, body + " ", "application/json", headers=headers), 413)
    assert data["errors"] == [{"at": "body", "message": "must have at most 40 bytes; got 41"}]
    assert data["code"] == "too_large"


def test_the_limit_of_a_body_is_one_megabyte(settings: Any) -> None:
    assert settings.API_BODY_LIMIT == 1_000_000


@pytest.mark.django_db
@pytest.mark.parametrize("type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_body_that_is_not_json_by_its_type_is_refused(client: Client, type: str) -> None:
    data = problem(client.generic("POST", ENTITIES, "name=Maya", type, headers=key_to(empty_namespace("here"))), 415)
    assert data["errors"] == [{"at": "Content-Type", "message": f"must be application/json; got {type}"}]


@pytest.mark.django_db
def test_a_client_that_accepts_no_json_gets_406(client: Client) -> None:
    problem(client.get(ENTITIES, headers=key_to(empty_namespace("here")) | {"Accept": "text/csv"}), 406)


@pytest.mark.django_db
def test_an_entity_is_made_with_each_of_its_names_once(client: Client) -> None:
    headers = key_to(empty_namespace("here"))
    body = {"name": " PostgreSQL ", "kind": "database", "aliases": ["Postgres", "postgres!", "POSTGRESQL", "PG", "😀"]}
    made = client.post(ENTITIES, body, "application/json", headers=headers)
    assert made.status_code == 201
    data = made.json()
    assert (data["name"], data["kind"]) == ("PostgreSQL", "database")
    assert sorted(data["aliases"]) == ["PG", "Postgres", "😀"]
    assert client.get(ENTITIES, headers=headers).json()["results"][0]["id"] == data["id"]
    again = problem(
        client.post(ENTITIES, {"name": "POSTGRESQL", "kind": "database"}, "application/json", headers=headers), 409
    )
    assert (again["code"], again["errors"][0]["at"]) == ("entity_exists", "name")
    assert client.post(ENTITIES, {"name": "PostgreSQL"}, "application/json", headers=headers).status_code == 201


class Source(StrictObject):
    level = OneOf(choices=["direct", "speculation"])
    weight = Float(min_value=0, max_value=1, required=False)


class Everything(StrictObject):
    sources = Source(many=True, required=False, max_length=3)
    source = Source(required=False)
    vector = ListOf(child=Float(), max_length=3, required=False)
    count = Integer(min_value=0, required=False)
    sure = Flag(required=False)
    asked = Flag(in_query=True, required=False)
    at = DateTime(required=False)
    memory = Identifier(required=False)
    metadata = JsonObject(required=False)
    note = Text(max_length=5, min_length=2, trim_whitespace=False, required=False)


TIME = "must be a time in ISO 8601, such as 2026-03-02T12:00:00Z; got "
OFFSET = "must include a UTC offset, such as 2026-03-02T12:00:00Z; got "


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [
        (
            {"sources": [{"level": "direct"}, {"level": "guess"}]},
            "sources.1.level",
            'must be one of direct, speculation; got "guess"',
        ),
        ({"sources": [{"level": ["direct"]}]}, "sources.0.level", 'must be one of direct, speculation; got ["direct"]'),
        ({"sources": [{"level": "direct", "w": 1}]}, "sources.0.w", "is not a known field; known are level, weight"),
        ({"sources": [{"level": "direct", "weight": 1.5}]}, "sources.0.weight", "must be at most 1; got 1.5"),
        ({"sources": [{"level": "direct", "weight": -1}]}, "sources.0.weight", "must be at least 0; got -1.0"),
        ({"sources": [7]}, "sources.0", "must be an object; got 7"),
        ({"sources": 7}, "sources", "must be a list of objects"),
        ({"sources": [{"level": "direct"}] * 4}, "sources", "must have at most 3 items"),
        ({"source": {}}, "source.level", "is required"),
        ({"source": []}, "source", "must be an object; got []"),
        ({"source": None}, "source", "must not be null"),
        ({"vector": [0.5, True]}, "vector.1", "must be a finite number; got true"),
        ({"vector": ["1"]}, "vector.0", 'must be a finite number; got "1"'),
        ({"vector": [float("nan")]}, "vector.0", "must be a finite number; got NaN"),
        ({"vector": [10**400]}, "vector.0", f"must be a finite number; got {str(10**400)[:60]}…"),
        ({"count": 1.0}, "count", "must be an integer; got 1.0"),
        ({"count": "1"}, "count", 'must be an integer; got "1"'),
        ({"count": True}, "count", "must be an integer; got true"),
        ({"count": -1}, "count", "must be at least 0; got -1"),
        ({"sure": 1}, "sure", "must be true or false; got 1"),
        ({"sure": "true"}, "sure", 'must be true or false; got "true"'),
        ({"asked": "yes"}, "asked", 'must be 1, true, 0, false; got "yes"'),
        ({"at": "2026-03-02T12:00:00"}, "at", OFFSET + '"2026-03-02T12:00:00"'),
        ({"at": "2026-03-02"}, "at", OFFSET + '"2026-03-02"'),
        ({"at": "2026-02-30T12:00:00Z"}, "at", TIME + '"2026-02-30T12:00:00Z"'),
        ({"at": "0001-01-01T00:00:00+14:00"}, "at", TIME + '"0001-01-01T00:00:00+14:00"'),
        ({"at": "yesterday"}, "at", TIME + '"yesterday"'),
        ({"at": 1772452800}, "at", TIME + "1772452800"),
        ({"memory": "7"}, "memory", 'must be a UUID; got "7"'),
        ({"memory": 7}, "memory", "must be a UUID; got 7"),
        ({"metadata": []}, "metadata", "must be an object; got []"),
        ({"note": "a"}, "note", "must have at least 2 characters; got 1"),
        ({"note": "abcdef"}, "note", "must have at most 5 characters; got 6"),
        ({"note": "a\0"}, "note", NUL),
        ({"note": "a\ud800"}, "note", SURROGATE),
    ],
)
def test_a_field_error_names_its_place_what_is_allowed_and_what_was_received(body: Any, at: str, message: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        valid_values(Everything(data=body))
    assert list(flatten_errors(refusal.value.detail)) == [{"at": at, "message": message}]


def test_a_field_takes_what_is_right_as_it_is() -> None:
    body = {
        "sources": [{"level": "direct", "weight": 1}],
        "vector": [0, -1.5, 1e308],
        "count": 10**12,
        "sure": False,
        "asked": "1",
        "at": "2026-03-02T13:00:00+01:00",
        "memory": "019cae0e-2a80-7000-8000-000000000001",
        "metadata": {"any": [{"thing": None}]},
        "note": " é😀 ",
    }
    values = valid_values(Everything(data=body))
    assert values["at"].isoformat() == "2026-03-02T12:00:00+00:00"
    assert (values["asked"], values["sure"], values["note"]) == (True, False, " é😀 ")
    assert values["vector"] == [0.0, -1.5, 1e308]
    assert values["metadata"] == body["metadata"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec=None)), inner),
)


@settings(deadline=None)
@given(json_values)
def test_a_value_is_sound_exactly_when_no_place_of_it_has_a_flaw(value: Any) -> None:
    assert is_storable(value) == (not list(storage_errors(value)))


@pytest.mark.parametrize(("levels", "taken"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False)])
def test_a_value_is_sound_down_to_the_deepest_level(levels: int, taken: bool) -> None:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    assert is_storable(value) == taken == (not list(storage_errors(value)))


def test_a_body_is_checked_as_if_it_were_the_first() -> None:
    bodies: list[dict[str, Any]] = [
        {"query": "one", "tags": ["a"]},
        {"query": 7},
        {"query": "two"},
        {"query": "three", "levels": ["no"]},
        {"query": "four", "top_k": 3},
    ]
    anew = [read(lambda body: valid_values(RetrieveSerializer(data=body)), body) for body in bodies]
    assert [read(RetrieveSerializer.validate_input, body) for body in bodies] == anew
    RetrieveSerializer.validate_input(bodies[2])["tags"].append("left behind")
    assert RetrieveSerializer.validate_input(bodies[2])["tags"] == []


def read(reader: Callable[[Any], dict[str, Any]], body: dict[str, Any]) -> Any:
    """The values of a body, or its validation errors."""
    try:
        return reader(body)
    except ValidationError as error:
        return error.detail
