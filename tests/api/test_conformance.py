"""The API conforms to its OpenAPI schema for generated input and every role: no server errors, no other shapes."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
import schemathesis
from django.db import connection
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from pytest_django.live_server_helper import LiveServer
from requests import Session
from schemathesis.checks import not_a_server_error
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from memories.jobs.submission import submit_job
from memories.models import Entity, EntityEdge, JudgementSet, Namespace, ReviewItem
from memories.models.choices import JobKind, Role
from memories.tuning import profile_publication
from memories.tuning.judgement_store import NewQuery, store_queries
from memories.tuning.policy_versions import add_policy_version
from tests.support.access import key_to
from tests.support.examples import examples, is_fuzzing
from tests.support.judged_world import make_judgement_set
from tests.support.profiles import add_version
from tests.support.retrieval_world import memory, store_world

pytestmark = [pytest.mark.xdist_group("retrieval"), pytest.mark.hypothesis]

EXAMPLES = examples(1, fuzz=10)
RETRIES = (examples(3, fuzz=10), 20)  # more examples for an operation that has not succeeded yet
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
Call = Callable[[Any, dict[str, str]], Iterator[Any]]
WORD = {"annotator": "ada", "type": "Fact", "right": True, "confidence": 0.9}
QUERY = {"query": "Which database does invoicing use?"}
YAML = "profile: default\nsystem: blend\n"
# Body fields for which the schema alone generates no valid value.
UNFIT = ("as_of", "profile", "serving", "set", "sources")
# Needs a merged memory, which no generated text produces.
NEVER_DONE = {
    "POST /api/v1/{namespace}/memories/{id}/split/",
    # Need a judgement set with cached candidates, or a running search.
    "GET /api/v1/{namespace}/ablation/",
    "GET /api/v1/{namespace}/sensitivity/",
    "POST /api/v1/{namespace}/jobs/{id}/stop/",
}
TAKES_NOTHING = "GET /api/v1/systems/"


@schemathesis.serializer("application/x-ndjson")
def encode_ndjson(context: Any, value: Any) -> bytes:
    """An NDJSON body: the same line twice."""
    return (json.dumps(value) + "\n").encode() * 2


@pytest.fixture
def world(live_server: LiveServer) -> Iterator[Namespace]:
    """The retrieval test world, committed so that the live server sees it; the queue's tables are emptied after it."""
    yield store_world("asked")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")


@pytest.fixture
def existing_ids(world: Namespace) -> dict[str, str]:
    """An existing id for each URL segment or body field that needs one."""
    first, second = sorted([memory(world, "Invoicing").id, memory(world, "Priya reviews").id])
    edge = EntityEdge.objects.within(world).get(predicate="works at")
    answer = Client().post(f"/api/v1/{world.slug}/retrieve/", QUERY, "application/json", headers=key_to(world))
    judged = JudgementSet.objects.create(namespace=world, name="judged")
    profiles = [add_version(world, params) for params in ({}, {"abstain_below": 0.1})]
    profile_publication.publish_profile(world, profiles[0], override="something must serve", by="tests")
    make_judgement_set(world)
    ids = {
        "edges": edge.id,
        "jobs": submit_job(world, JobKind.REFLECT, {}, by="tests").id,
        "judgements": judged.id,
        "judged query": store_queries(judged, [NewQuery("Who?")], by="tests").queries[0].id,
        "memories": memory(world, "Maya prefers").id,
        "policies": add_policy_version(world, name="default", params={}, note="", by="tests").id,
        "profiles": profiles[1].id,
        "version": profiles[1].id,
        "parent": profiles[0].id,
        "reviews": ReviewItem.objects.create(namespace=world, first_id=first, second_id=second, cosine=0.9).id,
        "traces": answer.json()["trace"],
        "memory": memory(world, "Alma").id,
        "source": Entity.objects.within(world).get(name="Jonas Ek").id,
        "target": Entity.objects.within(world).get(name="Lisbon").id,
        "trace": answer.json()["trace"],
    }
    return {word: str(id) for word, id in ids.items()}


def with_existing_ids(body: Any, existing_ids: dict[str, str], place: str) -> Any:
    """A generated body with existing ids, without the fields in UNFIT."""
    if not isinstance(body, dict):
        return body
    if place == "judgements":
        return with_existing_judgements(body, existing_ids)
    names = ("memory", "parent", "source", "target", "trace", "version")
    existing: dict[str, Any] = {name: existing_ids[name] for name in names} | {"params": {}, "yaml": YAML}
    existing["annotations"] = [{"memory": existing_ids["memory"], **WORD}]
    if place == "memories":
        existing["target"] = existing_ids["memory"]
    if place == "faithfulness":
        existing["memories"] = [existing_ids["memory"]]
        body = {"trace": "", **body}
    return {name: existing.get(name, value) for name, value in body.items() if name not in UNFIT}


def with_existing_judgements(body: dict[str, Any], existing_ids: dict[str, str]) -> dict[str, Any]:
    """A generated body of the judgements endpoints, with existing ids."""
    grade = {"memory": existing_ids["memory"], "grade": 2}
    existing = {
        "judgements": [grade],
        "grades": [{**grade, "query": existing_ids["judged query"]}],
        "configs": [],
        "qrels": "",
    }
    if isinstance(body.get("queries"), list):
        existing["queries"] = [with_existing_judgements(one, existing_ids) for one in body["queries"]]
    elif "queries" in body:
        existing["queries"] = "q1\tWho?"
    return {name: existing.get(name, value) for name, value in body.items() if name not in ("as_of", "kind", "docid")}


def removal_order(label: str) -> int:
    """Sort key: operations that remove what others need run last."""
    return 2 * label.startswith("DELETE") + label.endswith("correct/")


def run_operation(operation: Any, mode: GenerationMode, call: Call, existing_ids: dict[str, str], count: int) -> bool:
    """Run so many examples of an operation with every key; whether it succeeded for any."""
    place = operation.path.removeprefix("/api/v1/{namespace}/").split("/")[0]
    path = {"namespace": "asked", "id": existing_ids.get(place, "")}
    statuses = set()

    def attempt(case: Any) -> None:
        if mode.is_positive:
            case.body = with_existing_ids(case.body, existing_ids, place)
            if operation.path.endswith("/profiles/{id}/publish/"):
                body = case.body if isinstance(case.body, dict) else {}  # it may be left out
                case.body = {**body, "override": "nothing was checked"}
        once = mode.is_positive and case.headers
        for response in call(case, {"Idempotency-Key": str(uuid4())} if once else {}):
            case.validate_response(response, checks=CHECKS)
            statuses.add(response.status_code)

    rules = settings(
        max_examples=count,
        derandomize=not is_fuzzing(),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    rules(given(operation.as_strategy(mode, path_parameters=path))(attempt))()
    return min(statuses) < 300


def test_every_operation_answers_every_role_as_its_schema_says(
    live_server: LiveServer, world: Namespace, existing_ids: dict[str, str]
) -> None:
    document = json.loads(json.dumps(SchemaGenerator().get_schema(public=True)))  # type: ignore[no-untyped-call]
    config = ProjectConfig(generation=GenerationConfig(allow_x00=False))
    schema = schemathesis.openapi.from_dict(
        document, config=SchemathesisConfig(projects=ProjectsConfig(default=config))
    )
    operations = sorted((found.ok() for found in schema.get_all_operations()), key=lambda one: removal_order(one.label))
    keys, failed = [key_to(world, role) for role in Role], set()
    with Session() as session:

        def call(case: Any, headers: dict[str, str]) -> Iterator[Any]:
            for key in keys:
                yield case.call(base_url=live_server.url, headers=key | headers, session=session)

        for operation in operations:
            counts = (EXAMPLES, *RETRIES)
            if not any(
                run_operation(operation, GenerationMode.POSITIVE, call, existing_ids, count) for count in counts
            ):
                failed.add(operation.label)
            if operation.label != TAKES_NOTHING:
                run_operation(operation, GenerationMode.NEGATIVE, call, existing_ids, EXAMPLES)
    assert failed == NEVER_DONE
