"""One search as the page shows it: how far it is, what it found, and whether that holds."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from memories.jobs.registry import share
from memories.jobs.stopping import STOP
from memories.models import Job, JudgedQuery, JudgementSet, Namespace
from memories.models.choices import JobKind, JobState, Part
from memories.models.job import UNFINISHED
from memories.pages.optimise import figures
from memories.pages.sliders import address
from memories.templatetags.numbers import chance, figure, signed, worded
from memories.tuning.evaluating import ERRORS, NAMES
from memories.tuning.optimising import Wish
from memories.tuning.pareto import AGAINST

RUNS = 8  # that are listed
NOTHING = "Nothing beats what you have"
PARTS = {Part.TUNE: "tune", Part.HOLDOUT: "hold-out"}


class Change(NamedTuple):
    """One parameter that a search would change."""

    name: str
    label: str
    before: str
    after: str


def interval(told: Mapping[str, float]) -> str:
    """A difference with its interval."""
    return f"{signed(told['difference'], 3)} ({figure(told['low'], 3)} to {figure(told['high'], 3)})"


def verdict(job: Job) -> str:
    """What came of a search, in one sentence."""
    found, check = job.result.get("search", {}), job.result.get("check", {})
    if job.state == JobState.FAILED:
        return "The search failed"
    if job.state in UNFINISHED:
        return f"Best so far {figure(found['best'], 3)}" if found.get("tried") else "The search waits"
    if not found.get("tried"):
        return "It was stopped before anything was tried"
    if not check.get("proven"):
        return NOTHING
    held = check[Part.HOLDOUT]
    better = f"{figure(held['difference'], 3)} ({figure(held['low'], 3)} to {figure(held['high'], 3)})"
    return f"Better by {better}, p {chance(held['chance'])}"


def why(job: Job) -> str:
    """Why nothing beats what is there, where that is so."""
    found, check = job.result.get("search", {}), job.result.get("check", {})
    if job.state != JobState.DONE or check.get("proven") or Part.HOLDOUT not in check:
        return ""
    if not found["chosen"]:
        return f"The best of {found['tried']} settings is no better on the tune part than one standard error."
    tune, held = check[Part.TUNE], check[Part.HOLDOUT]
    return (
        f"What gained {signed(tune['difference'], 3)} on the tune part is not proven on the hold-out part:"
        f" {interval(held)}, p {chance(held['chance'])}."
    )


def changes(wish: Wish, changed: Mapping[str, Any]) -> list[Change]:
    """Changed parameters in words."""
    declared, usual = wish.setting.system.params.declared(), wish.usual
    return [
        Change(
            name,
            declared[name].affects[:1].upper() + declared[name].affects[1:],
            worded(usual[name]),
            f"{worded(value)} {getattr(declared[name], 'unit', '')}".strip(),
        )
        for name, value in changed.items()
    ]


def links(namespace: Namespace, wish: Wish, changed: Mapping[str, Any]) -> dict[str, str]:
    """Where a setting can be looked at: Tune on the same set, and the Lab with a question of it."""
    query = JudgedQuery.objects.within(namespace).filter(judgement_set_id=wish.set).order_by("id").first()
    # What the start says of its own goes without effect; what its caller said on top does not.
    ranked_by = {"by": wish.setting.by, **address({**wish.setting.given, **changed})}
    asked = {"tune": {"set": str(wish.set)}, "lab": {"query": query.text if query else ""}}
    return {
        page: f"{reverse(page, args=[namespace.slug])}?{urlencode({**said, **ranked_by})}"
        for page, said in asked.items()
    }


def shown(namespace: Namespace, job: Job) -> dict[str, Any]:
    """Everything that the page tells of one search."""
    wish = Wish.of(job.params)
    found, check = job.result.get("search", {}), job.result.get("check", {})
    judged = JudgementSet.objects.within(namespace).filter(id=wish.set).first()
    told: dict[str, Any] = {
        "job": job,
        "wish": wish,
        "by": wish.setting.by,
        "metric_name": NAMES[wish.objective.metric],
        "set_name": judged.name if judged else "a set that is gone",
        "open": job.state in UNFINISHED,
        "stopping": bool(job.params.get(STOP)),
        "percent": 100 * share(job),
        "verdict": verdict(job),
        "why": why(job),
        "found": found,
    }
    if not found.get("tried"):
        return told
    front = sorted((one for one in found["points"] if one["front"]), key=lambda one: -one["quality"])
    taken = found.get("chosen", found["changed"])
    metric = "worth" if wish.objective.price else told["metric_name"]
    says = AGAINST[wish.against][0]
    return told | {
        "rate": found["tried"] / found["seconds"] if found["seconds"] else 0.0,
        "changes": changes(wish, taken),
        "taken": taken,
        "metric": metric,
        "links": links(namespace, wish, taken),
        "progress": figures.progress(found),
        "progress_label": figures.progress_label(found, metric),
        "pareto": figures.pareto(found["points"], metric, says),
        "outside": figures.outside(found["points"]),
        "pareto_label": f"{len(front)} settings that no other beats in {metric} without losing in {says}.",
        "says": says,
        "front": [{**one, "changes": changes(wish, one["changed"])} for one in front],
        "parts": [
            {
                **check[part],
                "name": name,
                "interval": interval(check[part]),
                "p": chance(check[part]["chance"]),
                "metrics": both(check[part]),
            }
            for part, name in PARTS.items()
            if part in check
        ],
    }


def both(part: Mapping[str, Any]) -> list[tuple[str, tuple[Any, Any]]]:
    """Every metric of a part, before and after."""
    known = {metric: name for metric, name in (NAMES | ERRORS).items() if metric in part["before"]}
    return [(name, (part["before"][metric], part["after"][metric])) for metric, name in known.items()]


def runs(namespace: Namespace, shown: Job | None) -> list[dict[str, Any]]:
    """The other searches of a namespace, newest first."""
    searches = Job.objects.within(namespace).filter(kind=JobKind.OPTIMISE)
    others = searches.exclude(id=shown.id) if shown else searches
    jobs = others.order_by("-created_at", "id")[:RUNS]
    names = dict(JudgementSet.objects.within(namespace).values_list("id", "name")[:200])
    told = []
    for job in jobs:
        wish = Wish.of(job.params)
        told.append({"job": job, "by": wish.setting.by, "set": names.get(wish.set, "gone"), "verdict": verdict(job)})
    return told
