"""Seeds what the tuning pages show: grades, annotations, profile versions, traced sets and a search."""

from uuid import UUID

from memories.jobs import tuning_jobs
from memories.jobs.attempt import run_job
from memories.models import Job, Judgement, JudgementSet, Memory, Namespace, ProfileVersion, Trace
from memories.models.choices import JobKind
from memories.retrieval.config import resolve_config
from memories.tuning import optimiser, traced_sets
from memories.tuning.annotation_records import NewAnnotation, annotate
from memories.tuning.measurement import MAIN_METRIC
from memories.tuning.objective import Objective
from memories.tuning.optimiser import SearchSpec, tunable_params
from memories.tuning.pareto import DIVERSITY
from memories.tuning.profile_versions import add_profile_version
from memories.tuning.rrf_sweep import sweep_config
from memories.writing.bulk_copy import copy_rows

BY = "benchmark"
GRADES = (3, 2, 2, 1, 1, 1, 0, 0, 0, 0)  # of the first results, from the top
ANNOTATED, VERSIONS, TRIALS, SECONDS = 1_000, 30, 100, 600


def seed_tuning(namespace: Namespace) -> None:
    """Seed what is missing."""
    judgement_set = JudgementSet.objects.within(namespace).earliest("id")
    if not Judgement.objects.within(namespace).exists():
        seed_grades(namespace, judgement_set)
        seed_annotations(namespace)
    if not ProfileVersion.objects.within(namespace).exists():
        seed_versions(namespace)
    served = resolve_config(namespace, params={})
    for config in (served, sweep_config(namespace)):
        traced_sets.ensure_traced_set(namespace, judgement_set, config)
    if not Job.objects.within(namespace).filter(kind=JobKind.OPTIMISE).exists():
        run_search(namespace, judgement_set)


def seed_grades(namespace: Namespace, judgement_set: JudgementSet) -> None:
    """Grade the results of traced queries by their rank."""
    queries = dict(judgement_set.queries.values_list("text", "id"))
    rows = [
        Judgement(namespace_id=namespace.id, query_id=queries[trace.query], memory_id=UUID(result["id"]), grade=grade)
        for trace in Trace.objects.within(namespace).only("query", "answer")
        if trace.query in queries
        for result, grade in zip(trace.answer["results"], GRADES, strict=False)
    ]
    copy_rows(Judgement, list({(row.query_id, row.memory_id): row for row in rows}.values()))


def seed_annotations(namespace: Namespace) -> None:
    """Two annotators on the same memories; they disagree on one in five."""
    memories = Memory.objects.within(namespace).filter(status="active").order_by("id")[:ANNOTATED]
    annotations = [
        NewAnnotation(memory.id, who, memory.type, right=place % 5 > first, confidence=0.9)
        for place, memory in enumerate(memories)
        for first, who in enumerate(("first", "second"))
    ]
    annotate(namespace, annotations)


def seed_versions(namespace: Namespace) -> None:
    """Versions of a profile, each with another RRF k."""
    for number in range(VERSIONS):
        params = {"rrf_k": 20.0 + number}
        add_profile_version(namespace, name="tried", system="recall", params=params, parent=None, note="", by=BY)


def run_search(namespace: Namespace, judgement_set: JudgementSet) -> None:
    """Run one search of the optimiser."""
    served = resolve_config(namespace, params={})
    spec = SearchSpec(
        set=judgement_set.id,
        config=served,
        move=tuple(tunable_params(served)),
        objective=Objective(MAIN_METRIC),
        against=DIVERSITY,
        max_trials=TRIALS,
        seconds=SECONDS,
        seed=optimiser.DEFAULT_SEED,
    )
    run_job(namespace.id, tuning_jobs.submit_search_job(namespace, spec, by=BY).id)
