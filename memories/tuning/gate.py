"""What publishing a version would do: to judged queries, by a paired test, and to what was really asked lately."""

import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np

from memories.jobs.starting import start
from memories.jobs.work import Step, Work
from memories.models import Job, JudgementSet, Namespace, ProfileVersion
from memories.models.choices import JobKind, Part
from memories.retrieval.query import Setting
from memories.retrieval.settings import of_served, of_version
from memories.tuning import overlaps
from memories.tuning.arrays import arrays
from memories.tuning.evaluating import INVENTED, LOST, MAIN, Measured, measured, paired
from memories.tuning.tracing import fresh

# What is tested, and whether more of it is better.
TESTED = {MAIN: True, LOST: False, INVENTED: False}
PARTS = ("", Part.HOLDOUT)  # all queries, and those that nobody tuned on
MOST = 10  # changed questions that are named
LIVE = 50  # questions that are asked again, where their candidates would be others
SECONDS = 60.0  # for those
OFTEN = 10  # questions between two words of how far it is

Pairs = Sequence[tuple[Measured, Measured]]


def begin(namespace: Namespace, version: ProfileVersion, *, by: str) -> Job:
    """Have a version held against what serves now, as a job."""
    against = serving_version(namespace)
    params = {"version": str(version.id), "against": str(against) if against else None}
    return start(namespace, JobKind.GATE, params, by=by)


def last(namespace: Namespace, version: UUID) -> Job | None:
    """The newest check of a version, finished or not."""
    found = Job.objects.within(namespace).filter(kind=JobKind.GATE, params__version=str(version))
    return found.order_by("-created_at", "id").first()


def serving_version(namespace: Namespace) -> UUID | None:
    """The profile version that serves; none where it is what ships."""
    serving = namespace.serving
    return serving.profile_version_id if serving else None


def losses(job: Job) -> list[dict[str, Any]]:
    """What a check found to become worse by more than chance."""
    return [one for one in job.result.get("judge", {}).get("tests", ()) if one["loss"]]


def both(work: Work) -> tuple[Setting, Setting]:
    """What served when the job was asked for, and the version."""
    against, wanted = work.job.params["against"], work.job.params["version"]
    versions = ProfileVersion.objects.within(work.namespace).select_related("profile")
    return of_served(versions.get(id=against) if against else None), of_version(versions.get(id=wanted))


def judge(work: Work) -> None:
    """Hold the version against what serves on every judged query, all together and the held-out ones."""
    before, after = both(work)
    sets = list(JudgementSet.objects.within(work.namespace).filter(queries__isnull=False).distinct().order_by("id"))
    pairs = []
    for judged in sets:
        asked = [(fresh(work.namespace, judged, one, work.moved), one) for one in (before, after)]
        first, second = (measured(arrays(traced), one) for traced, one in asked)
        pairs.append((first, second))
    work.facts["sets"] = [one.name for one in sets]
    work.facts["tests"] = [tested(pairs, metric, part) for part in PARTS for metric in TESTED]
    work.moved(1, 1)


def tested(pairs: Pairs, metric: str, part: str) -> dict[str, Any]:
    """One metric over the queries of all sets: how it moves, and whether that is a loss."""
    moves = [after.each[metric] - before.each[metric] for before, after in pairs]
    chosen = [before.chosen(metric, part) for before, _ in pairs]
    found = paired(metric, joined(moves), joined(chosen).astype(bool))
    mean = [joined([one.each[metric][mask] for one, mask in zip(side, chosen, strict=True)]) for side in sides(pairs)]
    worse = found.difference < 0 if TESTED[metric] else found.difference > 0
    return {
        "metric": metric,
        "part": part,
        "queries": len(mean[0]),
        "before": float(mean[0].mean()) if len(mean[0]) else None,
        "after": float(mean[1].mean()) if len(mean[1]) else None,
        "difference": found.difference,
        "chance": found.chance,
        "won": found.won if TESTED[metric] else found.lost,
        "lost": found.lost if TESTED[metric] else found.won,
        "loss": bool(worse and found.significant),
    }


def sides(pairs: Pairs) -> tuple[list[Measured], list[Measured]]:
    """What serves on every set, and the version on every set."""
    return [before for before, _ in pairs], [after for _, after in pairs]


def joined(some: Sequence[Any]) -> Any:
    """Arrays one after another; none at all are an empty one."""
    return np.concatenate(some) if some else np.zeros(0)


def replay(work: Work) -> None:
    """Rank what was asked lately by both, from the traces; where candidates would be others, ask some again."""
    before, after = both(work)
    traces = list(overlaps.recent(work.namespace))
    again = [trace for trace in traces if overlaps.lives(trace, before, after)]
    sample = again[:: max(1, -(-len(again) // LIVE))]
    kept = [trace for trace in traces if not overlaps.lives(trace, before, after)]
    whole, found = len(kept) + len(sample), list[overlaps.Overlap]()
    for trace in kept:
        found.append(overlaps.replayed(trace, before, after))
        if len(found) % OFTEN == 0:
            work.moved(len(found), whole)
    until, live = time.monotonic() + SECONDS, 0
    for trace in sample:
        if time.monotonic() > until:
            break
        found.append(overlaps.asked(trace, before, after))
        live += 1
        work.moved(len(found), whole)
    work.facts.update(overlaps.told(found, MOST), traces=len(traces), other_candidates=len(again), live=live)
    work.moved(whole, whole)


STEPS: dict[str, Step] = {"judge": judge, "replay": replay}
