"""What publishing a version would do: to judged queries, by a paired test, and to what was really asked lately."""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
from django.utils import timezone

from memories.jobs.starting import start
from memories.jobs.work import Step, Work
from memories.judging import current
from memories.models import Job, JudgementSet, Namespace, ProfileVersion
from memories.models.choices import JobKind, Part
from memories.retrieval.query import Setting
from memories.retrieval.settings import of_served, of_version
from memories.tuning import overlaps
from memories.tuning.evaluating import BOUND, INVENTED, LOST, MAIN, Measured, corrected, paired, shared
from memories.tuning.evaluations import measured_on
from memories.tuning.tracing import writes_of
from scoring.dedup import normalize
from scoring.term import Mask

# What is tested, and whether more of it is better.
TESTED = {MAIN: True, LOST: False, INVENTED: False}
PARTS = ("", Part.HOLDOUT)  # all queries, and those that nobody tuned on
HOLDS = timedelta(days=1)  # a check, where memories are written meanwhile
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
    sets = list(JudgementSet.objects.within(work.namespace).filter(queries__isnull=False).distinct().order_by("id"))
    # Before anything is asked: what is judged meanwhile makes the check old.
    work.facts.update(sets=[one.name for one in sets], mark=mark_of(work.namespace), writes=writes_of(work.namespace))
    pairs = [shared(*measured_on(work.namespace, judged, both(work), work.moved)) for judged in sets]
    work.facts["tests"] = weighed([tested(pairs, metric, part) for part in PARTS for metric in TESTED])
    work.moved(1, 1)


def mark_of(namespace: Namespace) -> str:
    """By what one sees that somebody has judged something, in any set."""
    return current.mark(namespace, list(JudgementSet.objects.within(namespace).values_list("id", flat=True)))


def old(job: Job) -> str:
    """Why a check does not count any more, if it does not: what is judged has changed, or it is from another day."""
    namespace, told = job.namespace, job.result.get("judge", {})
    if told.get("mark") != mark_of(namespace):
        return "queries or judgements have changed since"
    written = writes_of(namespace) - told["writes"]
    if written and job.finished_at and timezone.now() - job.finished_at > HOLDS:
        return f"that was more than a day ago, and memories were written {written} time{'s' * (written > 1)} since"
    return ""


def tested(pairs: Pairs, metric: str, part: str) -> dict[str, Any]:
    """One metric over the queries of all sets: how it moves, and which way."""
    moves = [after.each[metric] - before.each[metric] for before, after in pairs]
    chosen = once(pairs, [before.chosen(metric, part) & after.chosen(metric, part) for before, after in pairs])
    found = paired(metric, joined(moves), joined(chosen).astype(bool))
    mean = [joined([one.each[metric][mask] for one, mask in zip(side, chosen, strict=True)]) for side in sides(pairs)]
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
        "worse": found.difference < 0 if TESTED[metric] else found.difference > 0,
    }


def once(pairs: Pairs, chosen: Sequence[Mask]) -> list[Mask]:
    """The chosen queries without those that an earlier set has as well: a question counts once."""
    seen, first = set[tuple[Any, ...]](), []
    for (before, _), mask in zip(pairs, chosen, strict=True):
        mine = mask.copy()
        for row in np.flatnonzero(mask).tolist():
            query = before.arrays.queries[row]
            key = normalize(query.text), query.user, query.as_of
            mine[row] = key not in seen
            seen.add(key)
        first.append(mine)
    return first


def weighed(tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tests with their chances corrected for how many there are, and whether each is a loss by that."""
    chances = corrected([one["chance"] for one in tests], [one["won"] + one["lost"] for one in tests])
    return [
        {**one, "corrected": chance, "loss": one["worse"] and chance < BOUND}
        for one, chance in zip(tests, chances, strict=True)
    ]


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
