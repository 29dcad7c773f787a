"""What each kind of long work consists of; loaded when it is needed."""

from collections.abc import Callable

from memories.jobs.work import Step
from memories.models import Job
from memories.models.choices import JobKind, JobState


def reflect() -> dict[str, Step]:
    """A look at all that is stored: contradictions, consolidation, drift, clusters."""
    from memories.reflecting import STEPS

    return STEPS


def reembed() -> dict[str, Step]:
    """Vectors of another embedder."""
    from memories.writing.reembedding import STEPS

    return STEPS


def index() -> dict[str, Step]:
    """Vectors of a large namespace, let into the index."""
    from memories.writing.indexing import STEPS

    return STEPS


def measure() -> dict[str, Step]:
    """How much the index finds of what is there."""
    from memories.health.index_recall import STEPS

    return STEPS


def pool() -> dict[str, Step]:
    """What several settings find for the queries of a set."""
    from memories.judging.pooling import STEPS

    return STEPS


def recompute() -> dict[str, Step]:
    """What is stored, weighed by the write policy that serves now."""
    from memories.writing.recomputing import STEPS

    return STEPS


def trace() -> dict[str, Step]:
    """The candidates of every query of a judgement set."""
    from memories.tuning.tracing import STEPS

    return STEPS


def evaluate() -> dict[str, Step]:
    """A version of a profile, measured on a judgement set."""
    from memories.tuning.evaluations import STEPS

    return STEPS


def gate() -> dict[str, Step]:
    """What publishing a version would do."""
    from memories.tuning.gate import STEPS

    return STEPS


def shadow() -> dict[str, Step]:
    """What was asked lately, answered by the shadow as well."""
    from memories.tuning.shadow import STEPS

    return STEPS


def optimise() -> dict[str, Step]:
    """A search for a better setting on a judgement set."""
    from memories.tuning.optimising import STEPS

    return STEPS


JOBS: dict[JobKind, Callable[[], dict[str, Step]]] = {
    JobKind.EVALUATE: evaluate,
    JobKind.GATE: gate,
    JobKind.INDEX: index,
    JobKind.MEASURE: measure,
    JobKind.OPTIMISE: optimise,
    JobKind.POOL: pool,
    JobKind.RECOMPUTE: recompute,
    JobKind.REEMBED: reembed,
    JobKind.REFLECT: reflect,
    JobKind.SHADOW: shadow,
    JobKind.TRACE: trace,
}


def steps_of(job: Job) -> dict[str, Step]:
    """The steps of a job, in order; a kind that the queue does not run has none."""
    return JOBS[JobKind(job.kind)]() if job.kind in JOBS else {}


def share(job: Job) -> float:
    """How much of a job is done, each of its steps counting the same."""
    if job.state == JobState.DONE:
        return 1.0
    names = list(steps_of(job)) or [job.step]
    before = names.index(job.step) if job.step in names else 0
    return (before + (min(job.done / job.total, 1.0) if job.total else 0.0)) / len(names)
