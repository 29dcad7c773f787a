"""What each kind of long work consists of; loaded when it is needed."""

from collections.abc import Callable

from memories.jobs.work import Step
from memories.models import Job
from memories.models.choices import JobKind, JobState


def reflect_steps() -> dict[str, Step]:
    """A look at all that is stored: contradictions, consolidation, drift, clusters."""
    from memories.reflecting import STEPS

    return STEPS


def reembed_steps() -> dict[str, Step]:
    """Vectors of another embedder."""
    from memories.writing.rebuild import REEMBED_STEPS

    return REEMBED_STEPS


def index_steps() -> dict[str, Step]:
    """Vectors of a large namespace, let into the index."""
    from memories.writing.rebuild import INDEX_STEPS

    return INDEX_STEPS


def measure_steps() -> dict[str, Step]:
    """How much the index finds of what is there."""
    from memories.health.index_recall import STEPS

    return STEPS


def pool_steps() -> dict[str, Step]:
    """What several settings find for the queries of a set."""
    from memories.tuning.judgement_pooling import STEPS

    return STEPS


def recompute_steps() -> dict[str, Step]:
    """What is stored, weighed by the write policy that serves now."""
    from memories.writing.recompute import STEPS

    return STEPS


def trace_steps() -> dict[str, Step]:
    """The candidates of every query of a judgement set."""
    from memories.tuning.traced_sets import STEPS

    return STEPS


def evaluate_steps() -> dict[str, Step]:
    """A version of a profile, measured on a judgement set."""
    from memories.tuning.evaluation_records import STEPS

    return STEPS


def gate_steps() -> dict[str, Step]:
    """What publishing a version would do."""
    from memories.tuning.gate import STEPS

    return STEPS


def shadow_steps() -> dict[str, Step]:
    """What was asked lately, answered by the shadow as well."""
    from memories.tuning.shadow import STEPS

    return STEPS


def optimise_steps() -> dict[str, Step]:
    """A search for a better setting on a judgement set."""
    from memories.tuning.optimiser import STEPS

    return STEPS


STEPS_BY_KIND: dict[JobKind, Callable[[], dict[str, Step]]] = {
    JobKind.EVALUATE: evaluate_steps,
    JobKind.GATE: gate_steps,
    JobKind.INDEX: index_steps,
    JobKind.MEASURE: measure_steps,
    JobKind.OPTIMISE: optimise_steps,
    JobKind.POOL: pool_steps,
    JobKind.RECOMPUTE: recompute_steps,
    JobKind.REEMBED: reembed_steps,
    JobKind.REFLECT: reflect_steps,
    JobKind.SHADOW: shadow_steps,
    JobKind.TRACE: trace_steps,
}


def job_steps(job: Job) -> dict[str, Step]:
    """The steps of a job, in order; a kind that the queue does not run has none."""
    return STEPS_BY_KIND[JobKind(job.kind)]() if job.kind in STEPS_BY_KIND else {}


def job_completion(job: Job) -> float:
    """How much of a job is done, each of its steps counting the same."""
    if job.state == JobState.DONE:
        return 1.0
    names = list(job_steps(job)) or [job.step]
    before = names.index(job.step) if job.step in names else 0
    return (before + (min(job.done / job.total, 1.0) if job.total else 0.0)) / len(names)
