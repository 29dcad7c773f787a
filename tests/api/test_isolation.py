"""Tenant isolation of the API, by key and by session."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.api.base_view import NamespacedView
from memories.api.urls import urlpatterns
from memories.models import ApiKey, Membership
from memories.models.choices import Role
from tests.support.access import CLOSED, key_to, member_of
from tests.support.problems import problem
from tests.support.rows import empty_namespace
from tests.support.statements import without_namespace

pytestmark = pytest.mark.django_db


def api_calls() -> Iterator[Any]:
    """Every method of every URL within a namespace, and the role it needs."""
    for pattern in urlpatterns:
        view = pattern.callback.view_class  # type: ignore[attr-defined]
        for method, needed in view.roles.items():
            yield pytest.param(method, pattern, needed, id=f"{method} {pattern.name}")


def address(pattern: Any, slug: str) -> str:
    """A URL in a namespace; any other ids in it do not exist."""
    names = {name: uuid4() for name in pattern.pattern.regex.groupindex}
    return reverse(pattern.name, kwargs={"namespace": slug, **names})


@pytest.mark.parametrize(("method", "pattern", "needed"), api_calls())
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("by", ["key", "session"])
def test_a_role_may_do_what_it_includes_and_the_error_names_what_it_lacks(
    client: Client, by: str, role: Role, method: str, pattern: Any, needed: Role
) -> None:
    here = empty_namespace("here")
    headers = key_to(here, role) if by == "key" else {}
    caller = client if by == "key" else member_of(here, role)
    response = caller.generic(method, address(pattern, "here"), "{}", "application/json", headers=headers)
    if list(Role).index(role) >= list(Role).index(needed):
        assert response.status_code not in (401, 403, 405)
        assert CLOSED not in response.getvalue().decode()
    else:
        data = problem(response, 403)["detail"]
        assert data.startswith(f"This needs the role {needed}; the ")
        assert data.endswith(f" has {role}.")


@pytest.mark.parametrize(("method", "pattern", "needed"), api_calls())
@pytest.mark.parametrize("by", ["key", "session"])
def test_a_foreign_namespace_and_an_unknown_one_are_indistinguishable(
    client: Client, by: str, method: str, pattern: Any, needed: Role
) -> None:
    here, there = empty_namespace("here"), empty_namespace("there")
    key_to(there)
    headers = key_to(here) if by == "key" else {}
    caller = client if by == "key" else member_of(here)
    answers = []
    for slug in ("there", "nowhere"):
        with CaptureQueriesContext(connection) as executed:
            response = caller.generic(method, address(pattern, slug), "{}", "application/json", headers=headers)
        shapes = [query["sql"].split(" WHERE ")[0] for query in executed]
        answers.append((problem(response, 404), shapes, response.headers.keys(), response.get("Allow")))
    assert answers[0] == answers[1]
    assert answers[0][0] == {"status": 404, "title": "Not Found", "code": "not_found", "detail": CLOSED, "errors": []}


def test_a_caller_without_credentials_gets_401_for_any_namespace(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    empty_namespace("here")
    with django_assert_num_queries(0):
        answers = [client.get(f"/api/v1/{slug}/") for slug in ("here", "nowhere")]
    data = [problem(answer, 401) for answer in answers]
    assert data[0] == data[1]
    assert data[0]["code"] == "not_authenticated"
    assert answers[0]["WWW-Authenticate"] == 'Bearer realm="recall"'


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer x", "Basic bWF5YTp4", "rk_x", "Bearer  rk_x"])
def test_a_header_without_a_key_is_refused_without_a_database_query(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries, header: str
) -> None:
    with django_assert_num_queries(0):
        response = client.get("/api/v1/here/", headers={"Authorization": header})
    assert problem(response, 401)["code"] == "malformed_key"
    assert response["WWW-Authenticate"] == 'Bearer realm="recall"'


@pytest.mark.parametrize(
    ("end", "code"),
    [({"expires_at": -1}, "expired_key"), ({"revoked_at": -1}, "revoked_key"), ({"expires_at": 60}, "")],
)
def test_a_key_opens_until_it_ends(client: Client, end: dict[str, int], code: str) -> None:
    here = empty_namespace("here")
    timestamps = {name: timezone.now() + timedelta(seconds=seconds) for name, seconds in end.items()}
    response = client.get("/api/v1/here/", headers=key_to(here, **timestamps))
    if code:
        assert problem(response, 401)["code"] == code
        assert "WWW-Authenticate" in response
        assert ApiKey.objects.get().last_used_at is None
    else:
        assert response.status_code == 200


def test_an_ended_key_is_nothing_in_a_foreign_namespace(client: Client) -> None:
    empty_namespace("there")
    headers = key_to(empty_namespace("here"), revoked_at=timezone.now())
    assert problem(client.get("/api/v1/there/", headers=headers), 404)["detail"] == CLOSED


def test_a_rotated_key_and_its_successor_open_until_the_old_one_ends(client: Client) -> None:
    here = empty_namespace("here")
    old = key_to(here)
    first = ApiKey.objects.get()
    new = key_to(here, rotated_from=first)
    assert [client.get("/api/v1/here/", headers=headers).status_code for headers in (old, new)] == [200, 200]
    ApiKey.objects.filter(pk=first.pk).update(revoked_at=timezone.now())
    assert [client.get("/api/v1/here/", headers=headers).status_code for headers in (old, new)] == [401, 200]


def test_a_key_s_use_is_noted_at_most_once_a_minute(client: Client) -> None:
    headers = key_to(empty_namespace("here"))

    def last_use() -> datetime | None:
        client.get("/api/v1/here/", headers=headers)
        return ApiKey.objects.get().last_used_at

    first = last_use()
    assert first is not None
    assert last_use() == first
    ApiKey.objects.update(last_used_at=first - timedelta(seconds=61))
    later = last_use()
    assert later is not None
    assert later > first


def test_a_key_counts_before_a_session(client: Client) -> None:
    here, there = empty_namespace("here"), empty_namespace("there")
    caller = member_of(there)
    assert caller.get("/api/v1/here/", headers=key_to(here, Role.READ)).json()["role"] == "read"
    assert caller.get("/api/v1/there/", headers=key_to(here)).status_code == 404


def test_a_session_writes_only_with_its_token() -> None:
    here = empty_namespace("here")
    user = User.objects.create(username="maya")
    Membership.objects.create(namespace=here, user=user, role=Role.WRITE)
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    assert client.get("/api/v1/here/entities/").status_code == 200
    assert "CSRF" in problem(client.post("/api/v1/here/entities/", {"name": "Maya"}, "application/json"), 403)["detail"]


def test_a_deactivated_user_gets_401() -> None:
    client = member_of(empty_namespace("here"))
    User.objects.update(is_active=False)
    assert client.get("/api/v1/here/").status_code == 401


def test_a_method_that_an_address_does_not_take_is_refused_with_those_it_takes(client: Client) -> None:
    headers = key_to(empty_namespace("here"))
    for method in ("PUT", "OPTIONS", "BREW"):
        response = client.generic(method, "/api/v1/here/entities/", headers=headers)
        assert problem(response, 405)["detail"] == f"Allowed methods are GET, POST; got {method}."
        assert response["Allow"] == "GET, POST"
    assert client.head("/api/v1/here/", headers=headers).status_code == 200


def test_a_view_must_say_which_role_each_of_its_methods_needs() -> None:
    with pytest.raises(ImproperlyConfigured, match="roles must name"):
        type("Careless", (NamespacedView,), {"roles": {"GET": Role.READ}, "get": None, "delete": None})


def test_a_namespace_has_its_properties_and_counts(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    here = empty_namespace("here")
    headers = key_to(here, Role.READ)
    client.get("/api/v1/here/", headers=headers)
    # Namespace and key, what it serves, its write policy, and one query for each of five tables.
    with django_assert_num_queries(8):
        data = client.get("/api/v1/here/", headers=headers).json()
    assert data.pop("created_at").endswith("Z")
    assert data.pop("counts") == {
        "memories": dict.fromkeys(["active", "merged", "superseded", "archived", "rejected", "forgotten"], 0),
        "chunks": 0,
        "entities": 0,
        "edges": 0,
        "sessions": 0,
        "reviews": 0,
    }
    assert data == {
        "slug": "here",
        "title": "Here",
        "mode": "general",
        "serving": "blend defaults",
        "embedder": "all-MiniLM-L6-v2",
        "thresholds_for": "all-MiniLM-L6-v2",
        "redacts": False,
        "clock": None,
        "role": "read",
    }


def test_every_statement_of_a_request_names_its_namespace(client: Client) -> None:
    headers = key_to(empty_namespace("here")) | {"Idempotency-Key": "k1"}
    body = {"name": "Maya", "aliases": ["M."]}
    with CaptureQueriesContext(connection) as executed:
        for _ in range(2):
            assert client.post("/api/v1/here/entities/", body, "application/json", headers=headers).status_code == 201
        assert client.get("/api/v1/here/entities/?q=may", headers=headers).json()["results"]
        assert client.get("/api/v1/here/", headers=headers).json()["counts"]["entities"] == 1
    assert {sql: missing for query in executed if (missing := without_namespace(sql := query["sql"]))} == {}
