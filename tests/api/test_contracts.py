"""One typed answer: its OpenAPI schema describes it to the leaf, and JSON and client types follow from it."""

import io
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from django.core.management import call_command
from django.test import Client

from memories.contracts.answer import Answer, Result
from memories.contracts.why_not import WhyNot
from memories.db.json_codec import encode_json
from memories.models import Namespace
from memories.retrieval.answer import build_answer
from memories.retrieval.retrieve import retrieve
from memories.writing.feedback import contradict_memories
from scoring.systems import SYSTEMS
from tests.support.access import key_to
from tests.support.retrieval_world import make_query, memory

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]
QUERY = "What did Maya say about PostgreSQL and invoicing in October?"
TYPED = {"retrieve/": "post", "compare/": "post", "why-not/": "post", "replay/": "post", "traces/{id}/": "get"}


@pytest.fixture(scope="module")
def schema() -> Any:
    """The OpenAPI document."""
    text = io.StringIO()
    call_command("spectacular", format="openapi-json", stdout=text)
    return json.loads(text.getvalue())


def response_schema(schema: Any, path: str) -> Any:
    """The schema of a successful response."""
    operation = schema["paths"][f"/api/v1/{{namespace}}/{path}"][TYPED[path]]
    return operation["responses"]["200"]["content"]["application/json"]["schema"]


def nodes(schema: Any, node: Any, seen: set[str]) -> Iterator[Any]:
    """All schemas within a schema, each component once."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name not in seen:
            seen.add(name)
            yield from nodes(schema, schema["components"]["schemas"][name], seen)
        return
    yield node
    nested = [*node.get("properties", {}).values(), *node.get("oneOf", ()), *node.get("allOf", ())]
    nested += [node[key] for key in ("items", "additionalProperties") if isinstance(node.get(key), dict)]
    for one in nested:
        yield from nodes(schema, one, seen)


def strict(schema: Any) -> Any:
    """The document with every object closed, so that an undocumented field fails."""
    closed = json.loads(json.dumps(schema))
    for component in closed["components"]["schemas"].values():
        if "properties" in component:
            component.setdefault("additionalProperties", False)
    return closed


def validate(schema: Any, path: str, data: Any) -> None:
    """Check data against the schema of a response."""
    document = strict(schema)
    root = {**response_schema(document, path), "components": document["components"]}
    jsonschema.Draft202012Validator(root, format_checker=jsonschema.FormatChecker()).validate(data)


def post(namespace: Namespace, path: str, **body: Any) -> Any:
    response = Client().post(
        f"/api/v1/{namespace.slug}/{path}", json.dumps(body), "application/json", headers=key_to(namespace)
    )
    assert response.status_code == 200, response.content
    return response.json()


@pytest.mark.parametrize("path", TYPED)
def test_no_object_of_an_answer_is_untyped(schema: Any, path: str) -> None:
    found = list(nodes(schema, response_schema(schema, path), set()))
    assert len(found) > 10
    for node in found:
        assert "type" in node or "oneOf" in node or "allOf" in node, node
        if node.get("type") == "object":
            assert node.get("properties") or isinstance(node.get("additionalProperties"), dict), node
        if node.get("type") == "array":
            assert node["items"], node


@pytest.mark.parametrize("explain", ["none", "parts", "full"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_real_answer_is_valid_and_has_no_undocumented_field(
    schema: Any, world: Namespace, system: str, explain: str
) -> None:
    contradict_memories(world, memory(world, "Maya drinks").id, memory(world, "Maya prefers").id, reason="", by="tests")
    answer = post(world, "retrieve/", query=QUERY, system=system, explain=explain, top_k=20)
    assert answer["results"] or answer["nearest"]
    validate(schema, "retrieve/", answer)
    validate(schema, "replay/", post(world, "replay/", trace=answer["trace"], explain=explain))
    trace = Client().get(f"/api/v1/{world.slug}/traces/{answer['trace']}/", headers=key_to(world)).json()
    validate(schema, "traces/{id}/", trace)
    assert {**trace["answer"], "gone": []} == {**answer, "gone": []}


def test_an_answer_that_abstains_and_one_of_the_past_are_valid(schema: Any, world: Namespace) -> None:
    abstained = post(world, "retrieve/", query=QUERY, system="blend", params={"abstain_below": 1.0})
    assert abstained["nearest"]
    validate(schema, "retrieve/", abstained)
    past = post(world, "retrieve/", query=QUERY, as_of="2026-02-01T00:00:00Z")
    assert past["note"]
    validate(schema, "retrieve/", past)


def test_a_comparison_and_why_not_are_valid(schema: Any, world: Namespace) -> None:
    validate(schema, "compare/", post(world, "compare/", query=QUERY))
    for beginning in ("The kitchen at Arrive", "The cat of", "Maya prefers"):
        missing = post(world, "why-not/", query=QUERY, memory=str(memory(world, beginning).id), top_k=1)
        validate(schema, "why-not/", missing)
        assert WhyNot.from_dict(missing).to_dict() == missing


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_answer_is_the_same_after_it_was_json(world: Namespace, system: str) -> None:
    answer = build_answer(retrieve(make_query(world, QUERY, system, top_k=20)), explain="full")
    stored = json.loads(encode_json(answer.to_dict()))
    again = Answer.from_dict(stored)
    assert json.loads(encode_json(again.to_dict())) == stored
    assert again.result_ids == answer.result_ids
    assert again.plan.entities == answer.plan.entities


def test_what_an_answer_may_leave_out_is_left_out() -> None:
    optional = {"conflicts_with", "gone", "explanation", "selection"}
    result = {"id": "0" * 32, "type": "Fact", "level": "fact", "content": "", "confidence": 1.0, "age_days": 0.0}
    result |= {"rank": 1, "score": 1.0, "retrievers": {}, "outdated": False}
    assert not optional & Result.from_dict(result).to_dict().keys()
    assert Result.from_dict({**result, "gone": True}).to_dict()["gone"] is True


def test_the_client_types_are_current() -> None:
    call_command("generate_client_types", check=True)
