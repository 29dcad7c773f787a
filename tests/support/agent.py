"""An agent that works with one namespace over REST, and the arithmetic of the sources written out once more."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from django.test import Client

from memories.jobs.attempt import run_job
from memories.models import Namespace
from memories.models.choices import Role
from tests.support.access import key_to

Json = dict[str, Any]


class Agent:
    """A client with an admin's key."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self.client = Client(headers=key_to(namespace, Role.ADMIN))

    def url(self, path: str) -> str:
        """The address of a call within the namespace."""
        return f"/api/v1/{self.namespace.slug}/{path}"

    def get(self, path: str, **query: Any) -> Any:
        """GET as JSON."""
        response = self.client.get(self.url(path), query)
        assert response.status_code == 200, response.content
        return response.json()

    def post(self, path: str, **body: Any) -> Any:
        """POST as JSON; only a success is expected."""
        response = self.client.post(self.url(path), body, content_type="application/json")
        assert response.status_code < 300, response.content
        return response.json() if response.content else None

    def remember(self, content: str, **body: Any) -> Json:
        """Store a direct statement of a Fact by Claude Haiku, unless told otherwise; the outcome."""
        default = {"type": "Fact", "source_level": "direct", "extractor": {"model": "claude-haiku"}}
        if "sources" in body:
            default.pop("source_level")
        outcome: Json = self.post("memories/", content=content, **default | body)
        return outcome

    def memory(self, id: str) -> Json:
        """A memory as it stands."""
        memory: Json = self.get(f"memories/{id}/")
        return memory

    def act(self, id: str, action: str, **body: Any) -> Json:
        """An action on a memory."""
        outcome: Json = self.post(f"memories/{id}/{action}/", **body)
        return outcome

    def retrieve(self, query: str, **body: Any) -> Json:
        """An answer with whole explanations, that counts no access unless told to."""
        answer: Json = self.post("retrieve/", **{"query": query, "explain": "full", "record": False} | body)
        return answer

    def run(self, kind: str, **params: Any) -> Json:
        """Start a job and do it here; its result."""
        job = self.post("jobs/", kind=kind, params=params)
        run_job(self.namespace.id, UUID(job["id"]))
        done = self.get(f"jobs/{job['id']}/")
        assert done["state"] == "done", done
        result: Json = done["result"]
        return result


def nodes(tree: Json) -> Iterator[Json]:
    """Every node of an explanation."""
    yield tree
    for part in tree.get("parts", ()):
        yield from nodes(part)


def value_of(tree: Json, name: str) -> float:
    """The value of the one node of an explanation with this name."""
    values = {node["value"] for node in nodes(tree) if node["name"] == name}
    assert len(values) == 1, f"{name}: {values} among {sorted({node['name'] for node in nodes(tree)})}"
    return float(values.pop())


def has_node(tree: Json, name: str) -> bool:
    """Whether an explanation has a node of this name."""
    return any(node["name"] == name for node in nodes(tree))


def by_content(answer: Json) -> dict[str, Json]:
    """The results of an answer by their text."""
    return {result["content"]: result for result in answer["results"]}


def rrf_of(result: Json, k: float, weights: Mapping[str, float]) -> float:
    """Σ wᵢ / (k + rankᵢ) over the lists that found a result."""
    return math.fsum(weights[name] / (k + hit["rank"]) for name, hit in result["retrievers"].items())


def min_max(values: Iterable[float]) -> list[float]:
    """Each value between the least and the greatest; 0 if all are equal."""
    listed = list(values)
    low, high = min(listed), max(listed)
    return [(value - low) / (high - low) if high > low else 0.0 for value in listed]
