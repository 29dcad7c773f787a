"""A version of a profile measured on a judgement set, and the measurement kept."""

import time
from typing import Any
from uuid import UUID

from django.db import transaction

from memories.jobs.starting import start
from memories.jobs.work import Step, Work
from memories.models import Evaluation, Job, JudgementSet, Namespace, ProfileVersion
from memories.models.choices import JobKind
from memories.retrieval.query import Setting
from memories.retrieval.settings import of_version
from memories.tuning.arrays import arrays
from memories.tuning.evaluating import Measured, measured, within
from memories.tuning.tracing import Tell, fresh, silent


def begin(namespace: Namespace, version: ProfileVersion, judged: JudgementSet, part: str, *, by: str) -> Job:
    """Have a version measured, as a job."""
    params = {"version": str(version.id), "set": str(judged.id), "part": part}
    return start(namespace, JobKind.EVALUATE, params, by=by)


def evaluate(
    namespace: Namespace,
    version: ProfileVersion,
    judged: JudgementSet,
    part: str = "",
    *,
    by: str,
    tell: Tell = silent,
) -> Evaluation:
    """Measure a version on a set or a part of it, asking the set first where it was not asked; keep what came out."""
    setting = of_version(version)
    began = time.perf_counter()
    found = measured_on(namespace, judged, setting, tell)
    evaluation = Evaluation(
        namespace=namespace,
        judgement_set_id=judged.id,
        profile_version_id=version.id,
        system=version.system,
        params=version.params,
        part=part,
        metrics=metrics(found, part),
        per_query=per_query(found, part),
        took_ms=1000 * (time.perf_counter() - began),
        created_by=by,
    )
    evaluation.save()
    return evaluation


def measured_on(namespace: Namespace, judged: JudgementSet, setting: Setting, tell: Tell = silent) -> Measured:
    """A setting on a set as the namespace is now."""
    return measured(arrays(fresh(namespace, judged, setting, tell)), setting)


def metrics(found: Measured, part: str) -> dict[str, dict[str, float]]:
    """Each metric with its interval, and how many queries it counts."""
    return {
        name: {**one._asdict(), "queries": int(found.chosen(name, part).sum())}
        for name, one in found.told(part).items()
    }


def per_query(found: Measured, part: str) -> dict[str, dict[str, float]]:
    """What each query has of the metrics that count it."""
    chosen = {name: found.chosen(name, part) for name in found.each}
    there = within(found.arrays.queries, part, "")
    return {
        str(query.id): {name: float(found.each[name][row]) for name in found.each if chosen[name][row]}
        for row, query in enumerate(found.arrays.queries)
        if there[row]
    }


def latest(namespace: Namespace, version_ids: list[UUID]) -> dict[UUID, Evaluation]:
    """The newest evaluation of each version that has one, without what each query had."""
    rows = Evaluation.objects.within(namespace).filter(profile_version_id__in=version_ids)
    newest = rows.order_by("profile_version_id", "-created_at").distinct("profile_version_id")
    return {one.profile_version_id: one for one in newest.defer("per_query") if one.profile_version_id}


def work_at(work: Work) -> None:
    """Measure what the job names; begun again after a crash, it keeps no second record."""
    wanted: dict[str, Any] = work.job.params
    if "evaluation" in work.facts:
        return
    version = ProfileVersion.objects.within(work.namespace).select_related("profile").get(id=wanted["version"])
    judged = JudgementSet.objects.within(work.namespace).get(id=wanted["set"])
    fresh(work.namespace, judged, of_version(version), work.moved)
    with transaction.atomic():
        made = evaluate(work.namespace, version, judged, wanted["part"], by=work.job.by)
        work.facts["evaluation"] = str(made.id)
        work.moved(1, 1)


STEPS: dict[str, Step] = {"evaluate": work_at}
