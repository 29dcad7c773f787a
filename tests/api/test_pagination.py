"""Lists are paginated forward and backward while rows are added and deleted."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.models import Entity, EntityAlias, Namespace
from scoring.dedup import normalize
from tests.support.access import key_to
from tests.support.problems import problem
from tests.support.rows import empty_namespace

pytestmark = pytest.mark.django_db

START = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture
def namespace() -> Namespace:
    return empty_namespace("here")


@pytest.fixture
def headers(namespace: Namespace) -> dict[str, str]:
    return key_to(namespace)


def entity(namespace: Namespace, name: str, day: int = 0, aliases: tuple[str, ...] = ()) -> Entity:
    """Store an entity created on a given day."""
    created_at = START + timedelta(days=day)
    made = Entity.objects.create(namespace=namespace, name=name, normalised=normalize(name), created_at=created_at)
    for alias in aliases:
        EntityAlias.objects.create(entity=made, name=alias, normalised=normalize(alias))
    return made


def names(page: dict[str, Any]) -> list[str]:
    """The names on a page."""
    return [row["name"] for row in page["results"]]


def walk(client: Client, headers: dict[str, str], start: str, way: str = "next") -> list[list[str]]:
    """Follow a list to its last page."""
    seen, here = [], start
    while here:
        page = client.get(here, headers=headers).json()
        seen.append(names(page))
        here = page[way]
    return seen


def test_the_newest_come_first_and_at_equal_timestamps_the_lower_id(
    client: Client, namespace: Namespace, headers: dict[str, str]
) -> None:
    for name, day in [("old", 0), ("tie 1", 1), ("tie 2", 1), ("tie 3", 1), ("new", 2)]:
        entity(namespace, name, day)
    pages = walk(client, headers, "/api/v1/here/entities/?limit=2")
    assert pages == [["new", "tie 1"], ["tie 2", "tie 3"], ["old"]]


def test_the_way_back_shows_the_same_pages(client: Client, namespace: Namespace, headers: dict[str, str]) -> None:
    for number in range(6):
        entity(namespace, f"e{number}", number // 4)
    first = client.get("/api/v1/here/entities/?limit=2", headers=headers).json()
    second = client.get(first["next"], headers=headers).json()
    third = client.get(second["next"], headers=headers).json()
    assert (first["previous"], third["next"]) == (None, None)
    back = walk(client, headers, third["previous"], "previous")
    assert back == [names(second), names(first)]
    again = client.get(client.get(third["previous"], headers=headers).json()["next"], headers=headers).json()
    assert names(again) == names(third)


def test_rows_that_come_and_go_move_no_other_row_across_pages(
    client: Client, namespace: Namespace, headers: dict[str, str]
) -> None:
    rows = [entity(namespace, f"e{number}", number) for number in range(6)]
    first = client.get("/api/v1/here/entities/?limit=2", headers=headers).json()
    entity(namespace, "newer", 9)
    rows[4].delete()  # the row the next page begins after
    assert walk(client, headers, first["next"]) == [["e3", "e2"], ["e1", "e0"]]
    second = client.get(first["next"], headers=headers).json()
    assert walk(client, headers, second["previous"], "previous") == [["newer", "e5"]]


def test_a_page_and_its_aliases_take_two_sql_queries_whatever_its_length(
    client: Client, namespace: Namespace, headers: dict[str, str], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(7):
        entity(namespace, f"e{number}", number, aliases=(f"b{number}", f"a{number}"))
    client.get("/api/v1/here/", headers=headers)
    for limit in (1, 7):
        # Namespace and key before them.
        with django_assert_num_queries(3):
            page = client.get(f"/api/v1/here/entities/?limit={limit}", headers=headers).json()
        assert page["results"][0]["aliases"] == ["a6", "b6"]
        assert len(page["results"]) == limit


def test_entities_are_found_by_a_part_of_a_name_or_an_alias_of_their_own_namespace(
    client: Client, namespace: Namespace, headers: dict[str, str]
) -> None:
    entity(namespace, "PostgreSQL", 1, aliases=("Postgres", "PG"))
    entity(namespace, "100% Grind", 2)
    entity(empty_namespace("there"), "Postgres too")
    searches = {"POST": ["PostgreSQL"], "pg": ["PostgreSQL"], "0%": ["100% Grind"], "_": [], "%25%25": []}
    for words, found in searches.items():
        answer = client.get("/api/v1/here/entities/", {"q": words}, headers=headers).json()
        assert names(answer) == found, words


def test_a_search_goes_on_from_page_to_page(client: Client, namespace: Namespace, headers: dict[str, str]) -> None:
    for number in range(6):
        entity(namespace, f"{'odd' if number % 2 else 'even'} & {number}", number)
    assert walk(client, headers, "/api/v1/here/entities/?q=odd+%26&limit=2") == [["odd & 5", "odd & 3"], ["odd & 1"]]


def test_an_empty_list_has_no_neighbours(client: Client, headers: dict[str, str]) -> None:
    answer = client.get("/api/v1/here/entities/", headers=headers).json()
    assert answer == {"results": [], "next": None, "previous": None}


@pytest.mark.parametrize("cursor", ["x", "", "a:b:c", "W10:1tX2zS:x" * 9, "\x00"])
def test_a_cursor_that_was_not_given_is_refused(client: Client, headers: dict[str, str], cursor: str) -> None:
    data = problem(client.get("/api/v1/here/entities/", {"cursor": cursor}, headers=headers), 400)
    assert [error["at"] for error in data["errors"]] == ["cursor"]


def test_a_cursor_of_another_namespace_is_refused(
    client: Client, headers: dict[str, str], namespace: Namespace
) -> None:
    for number in range(2):
        entity(namespace, f"e{number}")
    address = client.get("/api/v1/here/entities/?limit=1", headers=headers).json()["next"]
    cursor = parse_qs(urlsplit(address).query)["cursor"][0]
    there = key_to(empty_namespace("there"))
    assert problem(client.get("/api/v1/there/entities/", {"cursor": cursor}, headers=there), 400)["errors"] == [
        {"at": "cursor", "message": "must be a cursor from `next` or `previous` of this list; got another"}
    ]
