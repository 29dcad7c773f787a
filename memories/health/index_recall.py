"""Whether the index finds what is there: questions put to it and to a scan of every vector, as a job."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np

from memories.db.snapshot import snapshot
from memories.jobs.work import Step, Work
from memories.models import Job, MemoryVector, Namespace, NamespaceStatistics, Trace
from memories.models.choices import EMBEDDERS, JobKind, JobState, Route
from memories.models.vector import SCAN_BELOW
from memories.retrieval.config import resolve_config
from memories.retrieval.fetch import fetch
from memories.retrieval.parse import ParsedQuery, understand
from memories.retrieval.plan import choose_plan, list_depth
from memories.retrieval.query import Query
from memories.retrieval.retrievers.retriever_context import RetrieverContext
from memories.retrieval.retrievers.semantic import semantic_query
from memories.retrieval.scope import CandidateScope

QUESTIONS = 20
RECENT = 200  # traces among which questions are looked for
TOP = 10
ALERT = 0.95  # below, the index misses too much
PATIENCE = 30_000  # milliseconds for one scan
ANY = "What is known?"  # where nobody has asked anything, stored vectors stand in for its own


@dataclass(frozen=True)
class Measured:
    """What the last measurement found."""

    at: datetime
    recall: float
    worst: float
    questions: int
    asked_before: int  # of the questions; the others are stored vectors

    @property
    def low(self) -> bool:
        """Whether somebody should look after the index."""
        return self.recall < ALERT


def indexed(namespace: Namespace) -> bool:
    """Whether the namespace is answered by the index; a small one, or a foreign embedder's, is scanned exactly."""
    statistics = NamespaceStatistics.objects.filter(namespace=namespace).only("documents").first()
    return statistics is not None and statistics.documents >= SCAN_BELOW and namespace.embedder in EMBEDDERS


def last_measured(namespace: Namespace) -> Measured | None:
    """What the last measurement found, if there was one with anything to ask."""
    done = Job.objects.within(namespace).filter(kind=JobKind.MEASURE, state=JobState.DONE)
    job = done.order_by("created_at", "id").last()
    found: dict[str, Any] = job.result.get("measure", {}) if job else {}
    if job is None or job.finished_at is None or not found.get("recalls"):
        return None
    recalls = found["recalls"]
    return Measured(
        job.finished_at, float(np.mean(recalls)), min(recalls), len(recalls), min(found["asked_before"], len(recalls))
    )


def measure(work: Work) -> None:
    """Put each question both ways, and keep which share of the ten nearest the index found."""
    if not indexed(work.namespace):
        return
    queries = recent_queries(work.namespace)
    work.step_result.update(recalls=[], asked_before=len(queries))
    for number, (query, reading) in enumerate(questions(work.namespace, queries), start=1):
        share = recall(query, reading)
        if share is not None:
            work.step_result["recalls"].append(share)
        work.record_progress(number, QUESTIONS)


def recent_queries(namespace: Namespace) -> list[str]:
    """What was asked lately, each once."""
    recent = Trace.objects.within(namespace).filter(shadow=False).order_by("-id").values_list("query", flat=True)
    return list(dict.fromkeys(recent[:RECENT]))[:QUESTIONS]


def questions(namespace: Namespace, queries: list[str]) -> Iterator[tuple[Query, ParsedQuery]]:
    """What was asked, filled up with stored vectors."""
    by = resolve_config(namespace, params={})
    for text in queries:
        query = Query(namespace=namespace, text=text, config=by)
        yield query, understand(query)
    vectors = MemoryVector.objects.within(namespace).filter(embedder=namespace.embedder, route=Route.FULL, active=True)
    wanted = QUESTIONS - len(queries)
    some = list(vectors.order_by("?").values_list("vector", flat=True)[:wanted]) if wanted else []
    query = Query(namespace=namespace, text=ANY, config=by)
    reading = understand(query) if some else None
    for vector in some:
        assert reading is not None
        yield query, replace(reading, vector=np.asarray(vector, dtype=float))


def recall(query: Query, reading: ParsedQuery) -> float | None:
    """Which share of the nearest by a scan the index finds as well; none where there is nothing near."""
    exact, found = (nearest(query, reading, large=large) for large in (False, True))
    return len(set(exact) & set(found)) / len(exact) if exact else None


def nearest(query: Query, reading: ParsedQuery, *, large: bool) -> list[UUID]:
    """The nearest, as the retriever finds them by the index or by a scan."""
    params = query.config.params_under(choose_plan(reading, query.config).plan)
    with snapshot():
        # As many as a retrieval asks for: the index looks the further the more are wanted.
        asked = RetrieverContext(
            query.namespace, reading, CandidateScope.for_query(query), params, list_depth(params, TOP), large
        )
        question = semantic_query(asked)
        patient = replace(question, settings={**question.settings, "statement_timeout": str(PATIENCE)})
        found = fetch({"semantic": patient})
    if found.timed_out:
        raise TimeoutError(f"A search {found.timed_out['semantic']}.")
    return list(found.lists["semantic"])[:TOP]


STEPS: dict[str, Step] = {"measure": measure}
