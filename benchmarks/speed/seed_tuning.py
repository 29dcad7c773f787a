"""What a namespace in use has for the pages that improve it: grades, annotations, versions, a set asked, a search."""

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
ANNOTATED, VERSIONS, SETTINGS, SECONDS = 1_000, 30, 100, 600


def improved(namespace: Namespace) -> None:
    """Make what is missing."""
    whole = JudgementSet.objects.within(namespace).earliest("id")
    if not Judgement.objects.within(namespace).exists():
        judge(namespace, whole)
        speak(namespace)
    if not ProfileVersion.objects.within(namespace).exists():
        version(namespace)
    served = resolve_config(namespace, params={})
    for start in (served, sweep_config(namespace)):
        traced_sets.ensure_traced_set(namespace, whole, start)
    if not Job.objects.within(namespace).filter(kind=JobKind.OPTIMISE).exists():
        search(namespace, whole)


def judge(namespace: Namespace, whole: JudgementSet) -> None:
    """Grade what came back for the questions that left a trace."""
    queries = dict(whole.queries.values_list("text", "id"))
    rows = [
        Judgement(namespace_id=namespace.id, query_id=queries[trace.query], memory_id=UUID(one["id"]), grade=grade)
        for trace in Trace.objects.within(namespace).only("query", "answer")
        if trace.query in queries
        for one, grade in zip(trace.answer["results"], GRADES, strict=False)
    ]
    copy_rows(Judgement, list({(one.query_id, one.memory_id): one for one in rows}.values()))


def speak(namespace: Namespace) -> None:
    """What two annotators say of the same memories; one of five times they differ."""
    memories = Memory.objects.within(namespace).filter(status="active").order_by("id")[:ANNOTATED]
    said = [
        NewAnnotation(memory.id, who, memory.type, right=place % 5 > first, confidence=0.9)
        for place, memory in enumerate(memories)
        for first, who in enumerate(("one", "other"))
    ]
    annotate(namespace, said)


def version(namespace: Namespace) -> None:
    """Versions of a profile, each with another k."""
    for number in range(VERSIONS):
        params = {"rrf_k": 20.0 + number}
        add_profile_version(namespace, name="tried", system="recall", params=params, parent=None, note="", by=BY)


def search(namespace: Namespace, whole: JudgementSet) -> None:
    """One search, to its end."""
    served = resolve_config(namespace, params={})
    wish = SearchSpec(
        set=whole.id,
        config=served,
        move=tuple(tunable_params(served)),
        objective=Objective(MAIN_METRIC),
        against=DIVERSITY,
        max_trials=SETTINGS,
        seconds=SECONDS,
        seed=optimiser.DEFAULT_SEED,
    )
    run_job(namespace.id, tuning_jobs.submit_search_job(namespace, wish, by=BY).id)
