"""Rate limit per key and per person, with the time to wait."""

import time
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from memories.models.choices import Role
from memories.web import rate_limit
from memories.web.rate_limit import RateLimit, TokenBuckets
from recall_site import environment
from tests.support.access import key_to, member_of
from tests.support.problems import problem
from tests.support.rows import empty_namespace

pytestmark = pytest.mark.django_db


@pytest.fixture
def three_an_hour(settings: Any) -> None:
    settings.WORKERS, settings.RECALL_RATE = 1, (3, "hour")


@pytest.mark.usefixtures("three_an_hour")
def test_a_key_over_its_rate_limit_gets_429_with_the_limit_and_the_wait(client: Client) -> None:
    here = empty_namespace("here")
    headers = key_to(here)
    assert [client.get("/api/v1/here/", headers=headers).status_code for _ in range(3)] == [200] * 3
    response = client.get("/api/v1/here/", headers=headers)
    data = problem(response, 429)
    assert data["code"] == "throttled"
    assert data["detail"].startswith("The key “agent” is limited to 3 requests per hour; retry in ")
    assert 1190 <= int(response["Retry-After"]) <= 1200
    assert client.get("/api/v1/here/", headers=key_to(here)).status_code == 200


@pytest.mark.usefixtures("three_an_hour")
def test_a_person_is_limited_wherever_they_are_a_member(client: Client) -> None:
    person = member_of(empty_namespace("here"))
    other = member_of(empty_namespace("there"))
    assert [person.get("/api/v1/here/").status_code for _ in range(4)] == [200] * 3 + [429]
    assert other.get("/api/v1/there/").status_code == 200


@pytest.mark.usefixtures("three_an_hour")
def test_what_is_refused_for_want_of_a_role_is_not_counted_and_the_open_addresses_are_not_limited(
    client: Client,
) -> None:
    headers = key_to(empty_namespace("here"), Role.READ)
    for _ in range(5):
        assert client.post("/api/v1/here/memories/", {}, "application/json", headers=headers).status_code == 403
        assert client.get("/health/live").status_code == 200
        assert client.get("/api/v1/systems/").status_code == 200
    assert client.get("/api/v1/schema/").status_code == 200
    assert client.get("/api/v1/here/", headers=headers).status_code == 200


def test_without_a_rate_nobody_is_limited(client: Client, settings: Any) -> None:
    settings.RECALL_RATE = None
    headers = key_to(empty_namespace("here"))
    assert {client.get("/api/v1/here/", headers=headers).status_code for _ in range(20)} == {200}


def test_each_process_allows_its_share_of_the_rate(client: Client, settings: Any) -> None:
    settings.WORKERS, settings.RECALL_RATE = 2, (6, "hour")
    headers = key_to(empty_namespace("here"))
    assert [client.get("/api/v1/here/", headers=headers).status_code for _ in range(4)] == [200] * 3 + [429]
    assert RateLimit(1, "hour").share(8) == RateLimit(1, "hour")


def test_a_bucket_refills_as_time_passes() -> None:
    buckets, rate = TokenBuckets(), RateLimit(20, "second")
    assert [buckets.take_token("key", rate) for _ in range(20)] == [0] * 20
    wait = buckets.take_token("key", rate)
    assert 0 < wait <= 0.05
    time.sleep(wait)
    assert buckets.take_token("key", rate) == 0


def test_a_rate_that_was_lowered_holds_at_once_and_does_not_lock_anybody_out() -> None:
    buckets = TokenBuckets()
    for _ in range(10):
        buckets.take_token("key", RateLimit(10, "day"))
    assert 0 < buckets.take_token("key", RateLimit(1, "second")) <= 1


def test_more_callers_than_buckets_are_all_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_CALLERS", 10)
    buckets = TokenBuckets()
    assert {buckets.take_token(f"key {number}", RateLimit(1, "minute")) for number in range(100)} == {0}
    assert len(buckets.full_at) == 10


@pytest.mark.parametrize("came", ["600", "600/fortnight", "0/minute", "-1/minute", "x/minute", "600 / minute", "on"])
def test_a_rate_that_cannot_be_read_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, came: str) -> None:
    monkeypatch.setenv("RECALL_RATE", came)
    with pytest.raises(ImproperlyConfigured, match=r"RECALL_RATE must be a rate like 600/minute"):
        environment.read_rate("RECALL_RATE", "off")
