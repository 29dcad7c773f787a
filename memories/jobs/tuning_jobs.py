"""Submit the jobs of tuning: traces, evaluations, searches, pools, gates and shadow comparisons."""

from collections.abc import Sequence

from memories.jobs.submission import submit_job
from memories.models import Job, JudgementSet, Namespace, ProfileVersion
from memories.models.choices import JobKind
from memories.models.job import UNFINISHED
from memories.retrieval.query import Config
from memories.tuning.gate import serving_version_id
from memories.tuning.judgement_pooling import config_names
from memories.tuning.optimiser import SearchSpec
from memories.tuning.traced_sets import candidate_params


def submit_trace_job(namespace: Namespace, judgement_set: JudgementSet, config: Config, *, by: str) -> Job:
    """Submit a job that traces a judgement set."""
    params = {"set": str(judgement_set.id), "system": config.system.name, "params": candidate_params(config)}
    return submit_job(namespace, JobKind.TRACE, params, by=by)


def unfinished_trace_job(namespace: Namespace, judgement_set: JudgementSet, system: str = "") -> Job | None:
    """The newest unfinished job that traces a judgement set, by one system or by any."""
    params = {"params__set": str(judgement_set.id), **({"params__system": system} if system else {})}
    jobs = Job.objects.within(namespace).filter(kind=JobKind.TRACE, state__in=UNFINISHED, **params)
    return jobs.order_by("created_at").last()


def submit_evaluation_job(
    namespace: Namespace, version: ProfileVersion, judgement_set: JudgementSet, split: str, *, by: str
) -> Job:
    """Submit a job that evaluates a version."""
    params = {"version": str(version.id), "set": str(judgement_set.id), "split": split}
    return submit_job(namespace, JobKind.EVALUATE, params, by=by)


def submit_search_job(namespace: Namespace, spec: SearchSpec, *, by: str) -> Job:
    """Submit a search job."""
    return submit_job(namespace, JobKind.OPTIMISE, spec.to_dict(), by=by)


def submit_pool_job(judgement_set: JudgementSet, names: Sequence[str], k: int, *, by: str) -> Job:
    """Submit a job that pools a set; an unfinished job with the same parameters is returned instead."""
    namespace = judgement_set.namespace
    params = {"set": str(judgement_set.id), "configs": config_names(namespace, names), "k": k}
    unfinished = Job.objects.within(namespace).filter(kind=JobKind.POOL, state__in=UNFINISHED, params=params)
    return unfinished.first() or submit_job(namespace, JobKind.POOL, params, by=by)


def submit_gate_job(namespace: Namespace, version: ProfileVersion, *, by: str) -> Job:
    """Submit a job that compares a version with the serving one."""
    serving = serving_version_id(namespace)
    params = {"version": str(version.id), "against": str(serving) if serving else None}
    return submit_job(namespace, JobKind.GATE, params, by=by)


def submit_shadow_job(namespace: Namespace, *, by: str) -> Job:
    """Submit a job that answers new traces by the shadow."""
    return submit_job(namespace, JobKind.SHADOW, {}, by=by)
