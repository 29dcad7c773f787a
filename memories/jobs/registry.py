"""The steps of each kind of job, by dotted path, and a job's completion."""

from collections.abc import Mapping

from django.utils.module_loading import import_string

from memories.contracts.work import Step
from memories.models import Job
from memories.models.choices import JobKind, JobState

# Imported when a job runs: the packages below do not know the queue, and most processes run no jobs.
STEPS_BY_KIND: dict[JobKind, str] = {
    JobKind.EVALUATE: "memories.tuning.evaluation_records.STEPS",
    JobKind.GATE: "memories.tuning.gate.STEPS",
    JobKind.IMPORT: "memories.web.uploads.STEPS",
    JobKind.INDEX: "memories.writing.rebuild.INDEX_STEPS",
    JobKind.MEASURE: "memories.maintenance.index_recall.STEPS",
    JobKind.OPTIMISE: "memories.tuning.optimiser.STEPS",
    JobKind.POOL: "memories.tuning.judgement_pooling.STEPS",
    JobKind.RECOMPUTE: "memories.writing.recompute.STEPS",
    JobKind.REEMBED: "memories.writing.rebuild.REEMBED_STEPS",
    JobKind.REFLECT: "memories.maintenance.reflect.STEPS",
    JobKind.SHADOW: "memories.tuning.shadow.STEPS",
    JobKind.TRACE: "memories.tuning.traced_sets.STEPS",
}


def job_steps(job: Job) -> Mapping[str, Step]:
    """The steps of a job, in order; none for a kind that does not run on the queue."""
    path = STEPS_BY_KIND.get(JobKind(job.kind))
    steps: Mapping[str, Step] = import_string(path) if path else {}
    return steps


def job_completion(job: Job) -> float:
    """The completed share of a job, from 0 to 1; every step counts the same."""
    if job.state == JobState.DONE:
        return 1.0
    names = list(job_steps(job)) or [job.step]
    before = names.index(job.step) if job.step in names else 0
    return (before + (min(job.done / job.total, 1.0) if job.total else 0.0)) / len(names)
