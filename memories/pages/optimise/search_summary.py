"""One search as the page shows it: progress, result, and its check on the holdout split."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from memories.contracts.number_format import format_count, format_number, format_p_value, format_signed, format_value
from memories.contracts.work import CANCEL
from memories.jobs.registry import job_completion
from memories.models import Job, JudgedQuery, JudgementSet, Namespace
from memories.models.choices import JobKind, JobState, Split
from memories.models.job import UNFINISHED
from memories.pages.optimise import charts
from memories.pages.sliders import params_to_query
from memories.tuning.measurement import ERROR_NAMES, METRIC_NAMES
from memories.tuning.optimiser import SearchSpec
from memories.tuning.pareto import TRADEOFFS

MAX_RUNS = 8  # other searches listed
NO_IMPROVEMENT = "No improvement found"
SPLIT_NAMES = {Split.TUNE: "tune", Split.HOLDOUT: "holdout"}


class FoundChange(NamedTuple):
    """A parameter change found by a search."""

    name: str
    label: str
    before: str
    after: str


def format_interval(difference: Mapping[str, float]) -> str:
    """A difference with its 95 % interval."""
    low, high = format_number(difference["low"], 3), format_number(difference["high"], 3)
    return f"{format_signed(difference['difference'], 3)} ({low} to {high})"


def search_verdict(job: Job) -> str:
    """A search's outcome in one sentence."""
    search, check = job.result.get("search", {}), job.result.get("check", {})
    if job.state == JobState.FAILED:
        return "The search failed"
    if job.state in UNFINISHED:
        return f"Best so far {format_number(search['best'], 3)}" if search.get("tried") else "The search is queued"
    if not search.get("tried"):
        return "Stopped before anything was tried"
    if not check.get("significant"):
        return NO_IMPROVEMENT
    holdout = check[Split.HOLDOUT]
    low, high = format_number(holdout["low"], 3), format_number(holdout["high"], 3)
    better = f"{format_number(holdout['difference'], 3)} ({low} to {high})"
    return f"Better by {better}, p {format_p_value(holdout['p_value'])}"


def search_status(job: Job, spec: SearchSpec) -> str:
    """What an unfinished search is doing."""
    search = job.result.get("search", {})
    if job.state == JobState.QUEUED:
        return "Waiting for a worker."
    if job.step == "trace":
        done = f": {format_count(job.done)} of {format_count(job.total)} queries" if job.total else ""
        return f"The queries are being run{done}."
    if job.step == "check":
        return "The chosen configuration is being checked on the holdout split."
    if not search.get("tried"):
        return "The first configuration is being measured."
    rate = f", {format_number(search_rate(search), 0)} a second" if search["seconds"] else ""
    return f"{format_count(search['tried'])} of {format_count(spec.max_trials)} configurations{rate}."


def search_rate(search: Mapping[str, Any]) -> float:
    """Configurations per second."""
    return search["tried"] / search["seconds"] if search["seconds"] else 0.0


def search_summary(search: Mapping[str, Any], metric: str, *, finished: bool) -> str:
    """The gain on the tune split, and what a finished search cost."""
    gain = f"{metric} on the tune split: from {format_number(search['start'], 3)} to {format_number(search['best'], 3)}"
    if not finished:
        return f"{gain}."
    stopped = "; stopped manually" if search.get("stopped") else ""
    cost = f"{format_count(search['tried'])} configurations in {format_number(search['seconds'], 1)} s"
    return f"{gain} after {cost} ({format_number(search_rate(search), 0)} a second){stopped}."


def changes_headline(count: int, *, finished: bool) -> str:
    """How many parameters the found configuration changes."""
    if not count:
        return "No parameter would change"
    parameters = f"{count} parameter{'' if count == 1 else 's'}"
    return f"{parameters} would change" if finished else f"The best so far changes {parameters}"


def no_improvement_reason(job: Job) -> str:
    """Why a finished search found no improvement; empty if it did."""
    search, check = job.result.get("search", {}), job.result.get("check", {})
    if job.state != JobState.DONE or check.get("significant") or Split.HOLDOUT not in check:
        return ""
    if not search["chosen"]:
        return (
            f"The best of {search['tried']} configurations is within one standard error of the start on the tune split."
        )
    tune, holdout = check[Split.TUNE], check[Split.HOLDOUT]
    return (
        f"The gain of {format_signed(tune['difference'], 3)} on the tune split is not significant on the holdout split:"
        f" {format_interval(holdout)}, p {format_p_value(holdout['p_value'])}."
    )


def found_changes(spec: SearchSpec, changed: Mapping[str, Any]) -> list[FoundChange]:
    """Changed parameters with their labels and values."""
    declared, start_values = spec.config.system.params.declarations(), spec.start_values
    return [
        FoundChange(
            name,
            declared[name].affects[:1].upper() + declared[name].affects[1:],
            format_value(start_values[name]),
            f"{format_value(value)} {getattr(declared[name], 'unit', '')}".strip(),
        )
        for name, value in changed.items()
    ]


def config_links(namespace: Namespace, spec: SearchSpec, changed: Mapping[str, Any]) -> dict[str, str]:
    """Links to a configuration: Tune on the same set, and the Lab with one of its queries."""
    judged_query = JudgedQuery.objects.within(namespace).filter(judgement_set_id=spec.set).order_by("id").first()
    # Parameters of the start itself are redundant here; those its caller added on top are not.
    ranked_by = {"by": spec.config.label, **params_to_query({**spec.config.given, **changed})}
    targets = {"tune": {"set": str(spec.set)}, "lab": {"query": judged_query.text if judged_query else ""}}
    return {
        page: f"{reverse(page, args=[namespace.slug])}?{urlencode({**query, **ranked_by})}"
        for page, query in targets.items()
    }


def search_context(namespace: Namespace, job: Job) -> dict[str, Any]:
    """The page's context of one search."""
    spec = SearchSpec.from_dict(job.params)
    search, check = job.result.get("search", {}), job.result.get("check", {})
    judgement_set = JudgementSet.objects.within(namespace).filter(id=spec.set).first()
    context: dict[str, Any] = {
        "job": job,
        "spec": spec,
        "by": spec.config.label,
        "metric_name": METRIC_NAMES[spec.objective.metric],
        "set_name": judgement_set.name if judgement_set else "a deleted set",
        "open": job.state in UNFINISHED,
        "stopping": bool(job.params.get(CANCEL)),
        "percent": 100 * job_completion(job),
        "verdict": search_verdict(job),
        "status": search_status(job, spec),
        "why": no_improvement_reason(job),
    }
    if not search.get("tried"):
        return context
    front = sorted((point for point in search["points"] if point["front"]), key=lambda point: -point["quality"])
    chosen = search.get("chosen", search["changed"])
    metric = "worth" if spec.objective.price else context["metric_name"]
    tradeoff = TRADEOFFS[spec.against][0]
    changes = found_changes(spec, chosen)
    return context | {
        "changes": changes,
        "changes_headline": changes_headline(len(changes), finished=job.state not in UNFINISHED),
        "summary": search_summary(search, metric, finished=job.state not in UNFINISHED),
        "chosen": chosen,
        "metric": metric,
        "links": config_links(namespace, spec, chosen),
        "progress": charts.search_progress_chart(search),
        "progress_label": charts.search_progress_label(search, metric),
        "pareto": charts.pareto_chart(search["points"], metric, tradeoff),
        "outside": charts.count_outside(search["points"]),
        "pareto_label": f"{len(front)} Pareto-optimal configurations: {metric} against {tradeoff}.",
        "tradeoff": tradeoff,
        "front": [{**point, "changes": found_changes(spec, point["changed"])} for point in front],
        "splits": [
            {
                **check[split],
                "name": name,
                "interval": format_interval(check[split]),
                "p": format_p_value(check[split]["p_value"]),
                "metrics": metric_pairs(check[split]),
            }
            for split, name in SPLIT_NAMES.items()
            if split in check
        ],
    }


def metric_pairs(comparison: Mapping[str, Any]) -> list[tuple[str, tuple[Any, Any]]]:
    """Every metric of a split, before and after."""
    names = {metric: name for metric, name in (METRIC_NAMES | ERROR_NAMES).items() if metric in comparison["before"]}
    return [(name, (comparison["before"][metric], comparison["after"][metric])) for metric, name in names.items()]


def other_searches(namespace: Namespace, current: Job | None) -> list[dict[str, Any]]:
    """The other searches of a namespace, newest first."""
    searches = Job.objects.within(namespace).filter(kind=JobKind.OPTIMISE)
    others = searches.exclude(id=current.id) if current else searches
    jobs = others.order_by("-created_at", "id")[:MAX_RUNS]
    names = dict(JudgementSet.objects.within(namespace).values_list("id", "name")[:200])
    rows = []
    for job in jobs:
        spec = SearchSpec.from_dict(job.params)
        rows.append(
            {"job": job, "by": spec.config.label, "set": names.get(spec.set, "deleted"), "verdict": search_verdict(job)}
        )
    return rows
