"""An admin changes a namespace's title, mode and redaction."""

import pytest
from django.test import Client

from memories.models import Namespace
from memories.models.choices import Role
from tests.support.access import key_to
from tests.support.problems import problem
from tests.support.rows import empty_namespace

pytestmark = pytest.mark.django_db

HERE = "/api/v1/here/"


def test_what_is_named_changes_and_the_rest_stays(client: Client) -> None:
    here = empty_namespace("here")
    headers = key_to(here)
    response = client.patch(HERE, {"title": "Ships", "redacts": True}, "application/json", headers=headers)
    assert response.status_code == 200
    assert (response.json()["title"], response.json()["redacts"], response.json()["mode"]) == ("Ships", True, "general")
    response = client.patch(HERE, {"mode": "belief_system"}, "application/json", headers=headers)
    here.refresh_from_db()
    assert (here.title, here.redacts, here.mode) == ("Ships", True, "belief_system")
    assert response.json() == client.get(HERE, headers=headers).json()


def test_nothing_to_change_changes_nothing(client: Client) -> None:
    headers = key_to(empty_namespace("here"))
    data = client.patch(HERE, {}, "application/json", headers=headers).json()
    assert (data["title"], data["redacts"]) == ("Here", False)


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [
        ({"mode": "dreamy"}, "mode", "must be one of belief_system, agent_memory, general, procedural"),
        ({"redacts": "yes"}, "redacts", 'must be true or false; got "yes"'),
        ({"redacts": None}, "redacts", "must not be null"),
        ({"title": ""}, "title", "must not be empty"),
        ({"title": "x" * 201}, "title", "must have at most 200 characters; got 201"),
        ({"slug": "there"}, "slug", "is not a known field; known are title, mode, redacts"),
        ({"title": "Ships", "embedder": "x"}, "embedder", "is not a known field"),
    ],
)
def test_what_may_not_change_is_refused_with_its_place(
    client: Client, body: dict[str, object], at: str, message: str
) -> None:
    data = problem(client.patch(HERE, body, "application/json", headers=key_to(empty_namespace("here"))), 400)
    (error,) = data["errors"]
    assert error["at"] == at
    assert error["message"].startswith(message)
    assert Namespace.objects.get().title == "Here"


def test_a_writer_may_not_change_the_namespace(client: Client) -> None:
    headers = key_to(empty_namespace("here"), Role.WRITE)
    response = client.patch(HERE, {"title": "Mine"}, "application/json", headers=headers)
    assert problem(response, 403)["detail"].startswith("This needs the role admin")
