"""The API does what its schema says, whatever comes in and whoever asks: no answer is broken or of another shape."""

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
from retrieval_world import memory, told
from schemathesis.checks import not_a_server_error
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from test_api_walls import key_to
from test_tuning_profiles import kept
from tuning_world import judged as judged_set

from memories.jobs.starting import start
from memories.judging.storing import NewQuery, keep
from memories.models import Entity, EntityEdge, JudgementSet, Namespace, ReviewItem
from memories.models.choices import JobKind, Role
from memories.tuning import publishing
from memories.tuning.policies import add_version

pytestmark = pytest.mark.xdist_group("retrieval")

EXAMPLES = {GenerationMode.POSITIVE: 3, GenerationMode.NEGATIVE: 2}
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
# Of a body, what a schema alone cannot make fit.
UNFIT = ("as_of", "profile", "serving", "set", "sources")
# Needs a memory that was merged, which no generated text brings about.
NEVER_DONE = {
    "POST /api/v1/{namespace}/memories/{id}/split/",
    # Need a set that was asked, or a search under way.
    "GET /api/v1/{namespace}/ablation/",
    "GET /api/v1/{namespace}/sensitivity/",
    "POST /api/v1/{namespace}/jobs/{id}/stop/",
}
TAKES_NOTHING = "GET /api/v1/systems/"


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> bytes:
    """A body of one line, twice."""
    return (json.dumps(value) + "\n").encode() * 2


@pytest.fixture
def world(live_server: LiveServer) -> Iterator[Namespace]:
    """The world that retrieval is tested in, where a server sees it; the queue's own tables are emptied after it."""
    yield told("asked")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")


@pytest.fixture
def known(world: Namespace) -> dict[str, str]:
    """Something that exists, for each word of an address or a body that names one."""
    first, second = sorted([memory(world, "Invoicing").id, memory(world, "Priya reviews").id])
    edge = EntityEdge.objects.within(world).get(predicate="works at")
    answer = Client().post(f"/api/v1/{world.slug}/retrieve/", QUERY, "application/json", headers=key_to(world))
    judged = JudgementSet.objects.create(namespace=world, name="judged")
    profiles = [kept(world, params) for params in ({}, {"abstain_below": 0.1})]
    publishing.publish(world, profiles[0], override="something must serve", by="tests")
    judged_set(world)
    ids = {
        "edges": edge.id,
        "jobs": start(world, JobKind.REFLECT, {}, by="tests").id,
        "judgements": judged.id,
        "judged query": keep(judged, [NewQuery("Who?")], by="tests").queries[0].id,
        "memories": memory(world, "Maya prefers").id,
        "policies": add_version(world, name="default", params={}, note="", by="tests").id,
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


def sensible(body: Any, known: dict[str, str], place: str) -> Any:
    """A generated body that names what exists, without what the schema alone cannot make fit."""
    if not isinstance(body, dict):
        return body
    if place == "judgements":
        return judging(body, known)
    names = ("memory", "parent", "source", "target", "trace", "version")
    there: dict[str, Any] = {name: known[name] for name in names} | {"params": {}, "yaml": YAML}
    there["annotations"] = [{"memory": known["memory"], **WORD}]
    if place == "memories":
        there["target"] = known["memory"]
    if place == "faithfulness":
        there["memories"] = [known["memory"]]
        body = {"trace": "", **body}
    return {name: there.get(name, value) for name, value in body.items() if name not in UNFIT}


def judging(body: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """A body about judged queries that names what exists."""
    grade = {"memory": known["memory"], "grade": 2}
    there = {"judgements": [grade], "grades": [{**grade, "query": known["judged query"]}], "settings": [], "qrels": ""}
    if isinstance(body.get("queries"), list):
        there["queries"] = [judging(one, known) for one in body["queries"]]
    elif "queries" in body:
        there["queries"] = "q1\tWho?"
    return {name: there.get(name, value) for name, value in body.items() if name not in ("as_of", "kind", "docid")}


def ending(label: str) -> int:
    """How much of what others need an operation takes away; what takes most comes last."""
    return 2 * label.startswith("DELETE") + label.endswith("correct/")


def done(operation: Any, mode: GenerationMode, call: Call, known: dict[str, str]) -> bool:
    """Try an operation by every caller; tell whether it was done for anybody."""
    place = operation.path.removeprefix("/api/v1/{namespace}/").split("/")[0]
    path = {"namespace": "asked", "id": known.get(place, "")}
    statuses = set()

    def attempt(case: Any) -> None:
        if mode.is_positive:
            case.body = sensible(case.body, known, place)
            if operation.path.endswith("/profiles/{id}/publish/"):
                case.body = {**case.body, "override": "nothing was checked"}
        once = mode.is_positive and case.headers
        for response in call(case, {"Idempotency-Key": str(uuid4())} if once else {}):
            case.validate_response(response, checks=CHECKS)
            statuses.add(response.status_code)

    rules = settings(
        max_examples=EXAMPLES[mode],
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    rules(given(operation.as_strategy(mode, path_parameters=path))(attempt))()
    return min(statuses) < 300


def test_every_operation_answers_every_role_as_its_schema_says(
    live_server: LiveServer, world: Namespace, known: dict[str, str]
) -> None:
    written = json.loads(json.dumps(SchemaGenerator().get_schema(public=True)))  # type: ignore[no-untyped-call]
    plain = ProjectConfig(generation=GenerationConfig(allow_x00=False))
    schema = schemathesis.openapi.from_dict(written, config=SchemathesisConfig(projects=ProjectsConfig(default=plain)))
    operations = sorted((found.ok() for found in schema.get_all_operations()), key=lambda one: ending(one.label))
    keys, never = [key_to(world, role) for role in Role], set()
    with Session() as session:

        def call(case: Any, headers: dict[str, str]) -> Iterator[Any]:
            for key in keys:
                yield case.call(base_url=live_server.url, headers=key | headers, session=session)

        for operation in operations:
            if not done(operation, GenerationMode.POSITIVE, call, known):
                never.add(operation.label)
            if operation.label != TAKES_NOTHING:
                done(operation, GenerationMode.NEGATIVE, call, known)
    assert never == NEVER_DONE
