"""Views of the Profiles pages: all versions and what is served; one version with metrics, check and publication."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_GET

from memories.contracts.number_format import format_number
from memories.jobs.registry import job_completion
from memories.models import Job, JudgementSet, Namespace, ProfileVersion, Publication, Trace
from memories.models.choices import JobKind, JobState, Role, Split
from memories.models.job import UNFINISHED
from memories.pages.access import access_of, members_only
from memories.pages.job_rows import caller_names
from memories.retrieval.config import default_config
from memories.tuning import gate, profile_publication, profile_yaml, shadow, version_history
from memories.tuning.config_diff import version_differences
from memories.tuning.measurement import ERROR_NAMES, METRIC_NAMES, SIGNIFICANCE_LEVEL
from memories.tuning.profile_versions import version_label
from memories.web.layout import render_page
from memories.web.profile_bodies import profile_version_or_404
from scoring.params import ParamProblem
from scoring.systems import SYSTEMS

SPLIT_LABELS = {"": "judged queries", Split.TUNE: "tune queries", Split.HOLDOUT: "holdout queries"}


@require_GET
@members_only
def profile_list(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """All versions, newest first; what is served, the rollback target, and the shadow."""
    return render_profile_list(request, namespace)


def render_profile_list(
    request: HttpRequest, namespace: Namespace, *, problems: Sequence[ParamProblem] = (), status: int = 200
) -> HttpResponse:
    """The list page, with the problems of the last action."""
    access = access_of(request, namespace)
    entries = version_history.list_versions(namespace)
    context = {
        "entries": entries,
        "capped": len(entries) == version_history.MAX_VERSIONS,
        "wrong": problems,
        "typed": request.POST.get("yaml", ""),
        "may_write": access.allows(Role.WRITE),
        "admin": access.allows(Role.ADMIN),
        **serving_context(namespace),
        **shadow_context(namespace),
    }
    return render_page(request, "memories/profiles.html", context, status=status)


def serving_context(namespace: Namespace) -> dict[str, Any]:
    """What is served, since when and by whom, and the rollback target."""
    publication = namespace.serving
    version = published_version(namespace, publication)
    any_before, before = profile_publication.previous_version(namespace)
    earlier = version_history.find_version(namespace, before) if before else None
    return {
        "publication": publication,
        "published_by": caller_name(namespace, publication.published_by) if publication else "",
        "served": version_label(version) if version else default_config(namespace).description,
        "rollback_target": (version_label(earlier) if earlier else default_config(namespace).description)
        if any_before
        else "",
    }


def published_version(namespace: Namespace, publication: Publication | None) -> ProfileVersion | None:
    """The profile version of a publication; one of only a write policy has none."""
    id = publication.profile_version_id if publication else None
    return version_history.find_version(namespace, id) if id else None


def caller_name(namespace: Namespace, by: str) -> str:
    """Display name of a caller."""
    return caller_names(namespace, {by}).get(by, by)


def shadow_context(namespace: Namespace) -> dict[str, Any]:
    """The shadow, its report, and the queries it answers differently."""
    active = shadow.active_shadow(namespace)
    if active is None:
        return {"shadow": None}
    report = shadow.shadow_report(active)
    name = version_label(active.version)
    return {
        "shadow": active,
        "shadow_name": name,
        "report": report,
        "changed_queries": changed_queries(namespace, report, name),
    }


@require_GET
@members_only
def profile_version_detail(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """One version; htmx polls the running jobs."""
    return render_profile_version(request, namespace, profile_version_or_404(namespace, id))


def render_profile_version(
    request: HttpRequest,
    namespace: Namespace,
    profile_version: ProfileVersion,
    *,
    refusal: str = "",
    problems: Sequence[ParamProblem] = (),
    status: int = 200,
) -> HttpResponse:
    """The page of one version, with the refusal or problems of the last action."""
    access = access_of(request, namespace)
    [entry] = version_history.build_version_entries(namespace, [profile_version])
    publication = namespace.serving
    active_shadow = shadow.active_shadow(namespace)
    is_shadow = active_shadow is not None and active_shadow.version_id == profile_version.id
    context = {
        "entry": entry,
        "by": caller_name(namespace, profile_version.created_by),
        "against": published_version(namespace, publication),
        "publication": publication,
        "params": version_param_rows(profile_version),
        "shadow": active_shadow,
        "is_shadow": is_shadow,
        "may_shadow": access.allows(Role.ADMIN) and not entry.serving and not is_shadow,
        "refusal": refusal,
        "wrong": problems,
        "typed": request.POST,
        "may_write": access.allows(Role.WRITE),
        "admin": access.allows(Role.ADMIN),
        "sets": list(JudgementSet.objects.within(namespace).order_by("name")[:50]),
        "splits": Split.values,
        **evaluation_context(namespace, entry),
        **check_context(namespace, entry),
    }
    from_served = [] if entry.serving else version_differences(namespace, context["against"], profile_version)
    context["from_served"] = [] if from_served == entry.changes else from_served
    return render_page(request, "memories/profile.html", context, partial="work", status=status)


def version_param_rows(profile_version: ProfileVersion) -> list[dict[str, Any]]:
    """A version's parameters that differ from the defaults."""
    declared = SYSTEMS[profile_version.system].params.declarations() if profile_version.system in SYSTEMS else {}
    return [
        {"name": name, "declared": declared.get(name), "value": value}
        for name, value in sorted(profile_version.params.items())
    ]


def evaluation_context(namespace: Namespace, entry: version_history.VersionEntry) -> dict[str, Any]:
    """The last evaluation, and the running one."""
    last = entry.evaluation
    running = Job.objects.within(namespace).filter(
        kind=JobKind.EVALUATE, state__in=UNFINISHED, params__version=str(entry.version.id)
    )
    context: dict[str, Any] = {"evaluating": job_progress(running.order_by("-created_at").first())}
    if last is None:
        return context
    judgement_set = JudgementSet.objects.within(namespace).get(id=last.judgement_set_id)
    rows = [
        {"name": name, "error": metric in ERROR_NAMES, **last.metrics[metric], **interval_bar(last.metrics[metric])}
        for metric, name in (METRIC_NAMES | ERROR_NAMES).items()
        if metric in last.metrics
    ]
    return {
        **context,
        "evaluation": last,
        "metric_headline": metric_headline(rows[0]) if rows else "",
        "judgement_set": judgement_set,
        "on": SPLIT_LABELS[last.split],
        "metrics": rows,
    }


def metric_headline(metric: Mapping[str, Any]) -> str:
    """A metric with its interval."""
    mean, low, high = (format_number(metric[name], 3) for name in ("mean", "low", "high"))
    return f"{metric['name']} {mean}, {low} to {high}"


def interval_bar(metric: Mapping[str, float]) -> dict[str, float]:
    """A metric's interval on a scale from 0 to 1, in percent."""
    return {
        "left": 100 * metric["low"],
        "width": max(100 * (metric["high"] - metric["low"]), 0.5),
        "mark": 100 * metric["mean"],
    }


def job_progress(job: Job | None) -> dict[str, Any] | None:
    """An unfinished job and its progress."""
    return {"job": job, "percent": 100 * job_completion(job)} if job else None


def check_context(namespace: Namespace, entry: version_history.VersionEntry) -> dict[str, Any]:
    """The last check of a version: running, failed, or its result and whether that is still valid."""
    job = gate.latest_gate_job(namespace, entry.version.id)
    running = job if job and job.state in UNFINISHED else None
    result = job.result if job and job.state == JobState.DONE else {}
    judged, replay = result.get("judge", {}), result.get("replay", {})
    tests = [check_test_row(test) for test in judged.get("tests", ()) if test["queries"]]
    refusal = profile_publication.publication_refusal(namespace, entry.version)
    code = getattr(refusal, "code", "")
    return {
        "check": job,
        "checking": {"status": check_status(running), "percent": 100 * job_completion(running)} if running else None,
        "check_headline": check_headline(entry, code, running=bool(running), checked=bool(tests or replay)),
        "objection": str(refusal or ""),
        "unchecked": code == "unchecked",
        "publishable": not entry.serving and not running,
        "tests": tests,
        "test_sets": judged.get("sets", ()),
        "replay": replay,
        "changed_queries": changed_queries(namespace, replay, entry.name),
    }


def check_test_row(test: Mapping[str, Any]) -> dict[str, Any]:
    """A paired test of the check, with its verdict."""
    return {
        **test,
        "name": (METRIC_NAMES | ERROR_NAMES)[test["metric"]],
        "on": SPLIT_LABELS[test["split"]],
        "p_value": test.get("corrected") or test["p_value"],
        "gain": not test["loss"] and test.get("corrected", 1) < SIGNIFICANCE_LEVEL,
    }


def check_headline(entry: version_history.VersionEntry, code: str, *, running: bool, checked: bool) -> str:
    """The state of a version's check, given the code of a refusal to publish it."""
    if entry.serving:
        return "Served"
    if running:
        return "Checking against what is served"
    if code == "loss":
        return "Significant loss"
    if code == "unchecked":
        return "The check is out of date" if checked else "Not checked yet"
    return "Checked: no significant loss"


def check_status(job: Job) -> str:
    """What a running check is doing."""
    steps = {"": "Waiting for a worker", "replay": "Replaying real queries"}
    done = f", {job.done} of {job.total}" if job.total else ""
    return f"{steps.get(job.step, 'Running judged queries')}{done}."


def changed_queries(namespace: Namespace, report: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The queries whose answer changes most, with links into the Lab; expired traces are left out."""
    rows = report.get("most_changed", ())
    texts = dict(
        Trace.objects.within(namespace).filter(id__in=[row["trace"] for row in rows]).values_list("id", "query")
    )
    lab = resolve_url("lab", namespace.slug)
    return [
        {
            **row,
            "text": texts[UUID(row["trace"])],
            "traced_link": f"{lab}?{urlencode({'trace': row['trace']})}",
            "rerun_link": f"{lab}?{urlencode({'query': texts[UUID(row['trace'])], 'by': name})}",
        }
        for row in rows
        if UUID(row["trace"]) in texts
    ]


@require_GET
@members_only
def profile_version_yaml(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """A version as a YAML download."""
    version = profile_version_or_404(namespace, id)
    name = f"{version.profile.name}-{version.number}.yaml"
    filename = "".join(char if char.isascii() and (char.isalnum() or char in ".-_") else "-" for char in name)
    disposition = f'attachment; filename="{filename}"'
    return HttpResponse(
        profile_yaml.profile_to_yaml(version),
        content_type="application/yaml; charset=utf-8",
        headers={"Content-Disposition": disposition},
    )
