"""The OpenAPI schema is valid without warnings, with both authentication schemes and a problem for each operation."""

import io
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.fixture
def schema(client: Client) -> Any:
    return client.get("/api/v1/schema/?format=json").json()


def test_the_schema_is_valid_and_leaves_nothing_to_guess() -> None:
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=io.StringIO())


def test_a_namespace_opens_by_key_or_by_session(schema: Any) -> None:
    assert schema["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    assert schema["components"]["securitySchemes"]["session"]["name"] == "sessionid"
    for path, methods in schema["paths"].items():
        if "{namespace}" in path:
            for operation in methods.values():
                assert operation["security"] == [{"key": []}, {"session": []}]


def test_every_operation_in_a_namespace_documents_its_problem_response(schema: Any) -> None:
    for path, methods in schema["paths"].items():
        if "{namespace}" in path:
            for operation in methods.values():
                problem_schema = operation["responses"]["default"]["content"]["application/problem+json"]["schema"]
                assert problem_schema == {"$ref": "#/components/schemas/Problem"}


def test_every_operation_in_a_namespace_documents_the_rate_limit(schema: Any) -> None:
    for path, methods in schema["paths"].items():
        if "{namespace}" in path:
            assert all("Retry-After" in operation["responses"]["429"]["headers"] for operation in methods.values())


def test_the_entities_describe_bounds_paging_and_the_idempotency_key(schema: Any) -> None:
    entities = schema["paths"]["/api/v1/{namespace}/entities/"]
    assert {(one["in"], one["name"]) for one in entities["get"]["parameters"]} == {
        ("path", "namespace"),
        ("query", "limit"),
        ("query", "cursor"),
        ("query", "q"),
    }
    limit = next(one for one in entities["get"]["parameters"] if one["name"] == "limit")
    assert limit["schema"] == {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}
    assert ("header", "Idempotency-Key") in {(one["in"], one["name"]) for one in entities["post"]["parameters"]}
    assert set(entities["post"]["responses"]) == {"201", "429", "default"}
    made = schema["components"]["schemas"]["NewEntity"]
    assert made["properties"]["name"] == {"type": "string", "minLength": 1, "maxLength": 300}
    assert made["properties"]["aliases"]["maxItems"] == 50
    assert made["required"] == ["name"]
    assert made["additionalProperties"] is False
    page = schema["components"]["schemas"]["EntityPage"]
    assert set(page["properties"]) == {"results", "next", "previous"}
