"""Sign-in attempts are rate limited, and the message says until when."""

import time
from collections.abc import Iterator

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from memories.web import sign_in

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse"


@pytest.fixture(autouse=True)
def somebody(settings: LazySettings) -> Iterator[None]:
    """A user whose password can be guessed at quickly, and nobody counted yet."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    User.objects.create_user("ada", password=PASSWORD, is_staff=True)
    cache.clear()
    yield
    cache.clear()


def attempt(client: Client, name: str = "ada", password: str = "guess", at: str = "/sign-in/", **headers: str) -> int:
    """The status that an attempt to sign in is answered with."""
    return client.post(at, {"username": name, "password": password, "next": "/"}, headers=headers).status_code


@pytest.mark.parametrize("at", ["/sign-in/", "/admin/login/"])
def test_the_eleventh_attempt_is_refused_even_with_the_right_password(client: Client, at: str) -> None:
    assert [attempt(client, at=at) for _ in range(10)] == [200] * 10
    answer = client.post(at, {"username": "ada", "password": PASSWORD, "next": "/formulas/"})
    assert answer.status_code == 429
    assert 295 <= int(answer["Retry-After"]) <= 300
    assert "Try again in 5 minutes." in answer.content.decode()
    assert 'name="next" value="/formulas/"' in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]


def test_both_doors_and_all_spellings_of_a_name_count_together(client: Client) -> None:
    for at, name in (("/sign-in/", "ada"), ("/admin/login/", " ada "), ("/sign-in/", "\uff41da")) * 4:
        last = attempt(client, name, at=at)
    assert last == 429


def test_another_name_or_address_is_not_held_up(client: Client) -> None:
    for _ in range(11):
        attempt(client)
    assert attempt(client) == 429
    assert attempt(client, "grace") == 200
    assert attempt(Client(REMOTE_ADDR="192.0.2.7"), password=PASSWORD) == 302


def test_signing_in_forgets_the_failures(client: Client) -> None:
    for _ in range(9):
        attempt(client)
    assert attempt(client, password=PASSWORD) == 302
    client.logout()
    assert [attempt(client) for _ in range(10)] == [200] * 10


def test_being_signed_in_as_somebody_else_forgets_nothing(client: Client) -> None:
    client.force_login(User.objects.create_user("mallory"))
    assert [attempt(client, at="/admin/login/") for _ in range(11)] == [200] * 10 + [429]


def test_the_count_ends_with_its_time(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "WINDOW_SECONDS", 1)
    while attempt(client) != 429:
        pass
    time.sleep(1)
    assert attempt(client, password=PASSWORD) == 302


def test_a_forwarded_address_counts_only_behind_a_trusted_proxy(client: Client, settings: LazySettings) -> None:
    forged = [attempt(client, **{"X-Forwarded-For": f"192.0.2.{number}"}) for number in range(11)]
    assert forged[-1] == 429
    settings.TRUST_PROXY = True
    seen = [attempt(client, **{"X-Forwarded-For": f"192.0.2.{number}, 198.51.100.1"}) for number in range(11)]
    assert seen == [200] * 10 + [429]
    assert attempt(client, **{"X-Forwarded-For": "198.51.100.2"}) == 200


def test_looking_at_the_door_counts_nothing(client: Client) -> None:
    assert {client.get("/sign-in/").status_code for _ in range(20)} == {200}
    assert attempt(client) == 200
