"""Headers of every response, and how errors are rendered."""

import json
import threading
from typing import Any
from unittest.mock import sentinel

import pytest
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.db import connection
from django.test import Client, RequestFactory
from playwright.sync_api import Page, expect
from pytest_django import DjangoAssertNumQueries
from rest_framework import exceptions

from memories.web import problems
from memories.web.middleware import csp_header
from recall_site import readiness

SITE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' "
    "'sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o='; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def body(response: Any) -> dict[str, object]:
    """The problem an answer tells, which must say so by its type."""
    assert response["Content-Type"] == "application/problem+json"
    told: dict[str, object] = json.loads(response.content)
    assert set(told) == {"status", "title", "code", "detail", "errors", "request_id"}
    return told


def test_every_answer_carries_the_security_headers(client: Client) -> None:
    response = client.get("/health/live")
    assert response.json() == {"status": "live"}
    assert response["Content-Security-Policy"] == SITE_POLICY == csp_header()
    assert response["Referrer-Policy"] == "same-origin"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"


def test_a_plain_request_id_is_echoed_and_another_replaced(client: Client) -> None:
    assert client.get("/health/live", headers={"X-Request-ID": "trace-7"})["X-Request-ID"] == "trace-7"
    assert client.get("/health/live", headers={"X-Request-ID": "a b"})["X-Request-ID"] != "a b"
    assert client.get("/health/live")["X-Request-ID"] != client.get("/health/live")["X-Request-ID"]


def test_a_missing_api_address_is_a_problem_with_the_request_id(client: Client) -> None:
    response = client.get("/api/v1/demo/no/such/", headers={"X-Request-ID": "trace-8"})
    assert response.status_code == 404
    assert body(response) == {
        "status": 404,
        "title": "Not Found",
        "code": "not_found",
        "detail": "There is nothing at /api/v1/demo/no/such/.",
        "errors": [],
        "request_id": "trace-8",
    }


def test_a_missing_page_is_a_page(client: Client, db: None) -> None:
    response = client.get("/nothing.html")
    assert response.status_code == 404
    assert response["Content-Type"].startswith("text/html")
    assert "There is nothing at /nothing.html." in response.content.decode()
    assert response["X-Request-ID"] in response.content.decode()


def test_an_error_page_needs_nothing_that_may_have_failed() -> None:
    # No database mark: a question to the database would fail this test.
    request = RequestFactory().get("/lab/")
    request.user = User(pk=1, username="maya")
    response = problems.server_error(request)
    assert response.status_code == 500
    assert "Something broke" in response.content.decode()


def test_validation_errors_are_places_and_messages() -> None:
    error = exceptions.ValidationError(
        {"content": ["too short", "too dull"], "sources": [{}, {"level": ["unknown"]}], "non_field_errors": ["no"]}
    )
    response = problems.exception_handler(error, {"view": sentinel.view, "request": sentinel.request})
    assert response is not None
    assert body(response)["errors"] == [
        {"at": "content", "message": "too short"},
        {"at": "content", "message": "too dull"},
        {"at": "sources.1.level", "message": "unknown"},
        {"at": "body", "message": "no"},
    ]


def test_other_errors_keep_their_code_and_headers() -> None:
    response = problems.exception_handler(exceptions.Throttled(wait=7), {})
    assert response is not None
    assert (response.status_code, body(response)["code"], response["Retry-After"]) == (429, "throttled", "7")
    assert problems.exception_handler(RuntimeError("unknown"), {}) is None


def test_a_form_without_its_token_is_refused_in_the_asker_s_language(db: None) -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.post("/admin/login/")["Content-Type"].startswith("text/html")
    response = client.post("/admin/login/", headers={"X-Request-ID": "trace-9"})
    assert response.status_code == 403
    assert "trace-9" in response.content.decode()


def test_the_site_is_ready_when_everything_is_there(client: Client, db: None) -> None:
    response = client.get("/health/ready")
    assert (response.status_code, response.json()) == (200, {"status": "ready"})


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("pgvector_version", None, "The database lacks pgvector, or its version is too old."),
        ("pgvector_version", "0.7.4", "The database lacks pgvector, or its version is too old."),
        ("pending_migrations", ["memories.0009"], "The database is not migrated; run manage.py migrate."),
    ],
)
def test_the_site_says_what_it_misses_and_the_log_says_more(
    client: Client,
    db: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    value: list[str] | str | None,
    told: str,
) -> None:
    monkeypatch.setattr(readiness, "schema_complete", threading.Event())
    monkeypatch.setattr(readiness, name, lambda: value)
    response = client.get("/health/ready")
    assert response.status_code == 503
    assert (body(response)["code"], body(response)["detail"]) == ("not_ready", told)
    assert (value[0] if isinstance(value, list) else value or "0.8 or newer") in caplog.text
    assert not readiness.schema_complete.is_set()


def test_a_database_once_found_complete_is_only_asked_whether_it_answers(
    client: Client, db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.get("/health/ready")
    with django_assert_num_queries(1):
        assert client.get("/health/ready").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_the_site_is_not_ready_without_its_database(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
    response = client.get("/health/ready")
    connection.close()
    assert response.status_code == 503
    assert body(response)["detail"] == "The database does not answer."
    assert "/nowhere" in caplog.text


def test_migrations_match_the_models(db: None) -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_plotly_and_htmx_are_served_from_their_wheels() -> None:
    assert finders.find("vendor/plotly.min.js")
    assert finders.find("vendor/../settings.py") is None
    assert finders.find("django_htmx/htmx-2.min.js")


def test_the_schema_is_openapi_3_1_and_open_to_read(client: Client, db: None) -> None:
    response = client.get("/api/v1/schema/", headers={"Accept": "application/vnd.oai.openapi+json"})
    told = json.loads(response.content)
    assert told["openapi"].startswith("3.1")
    assert told["info"]["title"] == "Recall"


def test_the_api_docs_work_from_files_of_this_site_alone(page: Page) -> None:
    response = page.goto("/api/v1/docs/")
    expect(page.locator(".swagger-ui .info .title")).to_contain_text("Recall")
    assert response is not None
    assert "script-src 'self';" in response.headers["content-security-policy"]


def test_plotly_draws_under_the_site_s_policy(page: Page) -> None:
    page.goto("/sign-in/")
    page.add_script_tag(url="/static/vendor/plotly.min.js")
    page.evaluate(
        """async () => {
            const place = document.body.appendChild(document.createElement("div"));
            const line = {x: [0, 90, 180], y: [1, 0.5, 0.25], hovertemplate: "%{y}"};
            await Plotly.newPlot(place, [line], {title: {text: "Halves every 90 days"}}, {displayModeBar: false});
        }"""
    )
    expect(page.locator(".scatterlayer .trace")).to_have_count(1)


def test_a_request_that_leaves_the_machine_is_noticed(page: Page, complaints: list[str]) -> None:
    page.set_content('<img src="http://example.invalid/picture.png">')
    assert "request to http://example.invalid/picture.png" in complaints
    complaints.clear()
