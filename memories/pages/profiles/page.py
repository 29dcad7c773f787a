"""The versions of all profiles and what serves; and one version with its metrics, its check and its publication."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_GET

from memories.api.profiles import version_of
from memories.jobs.registry import share
from memories.models import Job, JudgementSet, Namespace, ProfileVersion, Publication, Trace
from memories.models.choices import JobKind, JobState, Part, Role
from memories.models.job import UNFINISHED
from memories.pages.access import access_of, members_only
from memories.pages.jobs import callers
from memories.retrieval.settings import SHIPPED
from memories.tuning import files, gate, histories, publishing, shadow
from memories.tuning.differences import differences
from memories.tuning.evaluating import ERRORS, NAMES
from memories.tuning.profiles import called
from recall_site.layout import render_page
from scoring.params import Problem
from scoring.systems import SYSTEMS

PARTS = {"": "judged queries", Part.TUNE: "queries to tune on", Part.HOLDOUT: "held-out queries"}


@require_GET
@members_only
def profiles(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """All versions, newest first; what serves, what goes back, and who follows."""
    return listing(request, namespace)


def listing(
    request: HttpRequest, namespace: Namespace, *, wrong: Sequence[Problem] = (), status: int = 200
) -> HttpResponse:
    """The page of all versions, with what was wrong about the last act."""
    access = access_of(request, namespace)
    kept = histories.listed(namespace)
    context = {
        "kept": kept,
        "who": callers(namespace, {one.version.created_by for one in kept}),
        "most": histories.LISTED,
        "wrong": wrong,
        "typed": request.POST.get("yaml", ""),
        "may_write": access.allows(Role.WRITE),
        "admin": access.allows(Role.ADMIN),
        **serving(namespace),
        **followed(namespace),
    }
    return render_page(request, "memories/profiles.html", context, status=status)


def serving(namespace: Namespace) -> dict[str, Any]:
    """What serves, since when and by whom; and what a roll-back would bring."""
    publication = namespace.serving
    version = published(namespace, publication)
    any_before, before = publishing.before(namespace)
    earlier = histories.found(namespace, before) if before else None
    return {
        "publication": publication,
        "published_by": caller(namespace, publication.published_by) if publication else "",
        "served": called(version) if version else f"{SHIPPED} as it ships",
        "served_id": version.id if version else None,
        "back": (called(earlier) if earlier else f"{SHIPPED} as it ships") if any_before else "",
    }


def published(namespace: Namespace, publication: Publication | None) -> ProfileVersion | None:
    """The profile version that a publication names; one of a write policy alone names none."""
    id = publication.profile_version_id if publication else None
    return histories.found(namespace, id) if id else None


def caller(namespace: Namespace, by: str) -> str:
    """The name of who did something."""
    return callers(namespace, {by}).get(by, by)


def followed(namespace: Namespace) -> dict[str, Any]:
    """The shadow and its report, with the questions that it answers otherwise."""
    cast = shadow.of(namespace)
    if cast is None:
        return {"shadow": None}
    report = shadow.report(cast)
    name = called(cast.version)
    return {"shadow": cast, "shadow_name": name, "report": report, "turned": questions(namespace, report, name)}


@require_GET
@members_only
def version(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """One version; htmx asks again for the work under way."""
    return shown(request, namespace, version_of(namespace, id))


def shown(
    request: HttpRequest,
    namespace: Namespace,
    one: ProfileVersion,
    *,
    refused: str = "",
    wrong: Sequence[Problem] = (),
    status: int = 200,
) -> HttpResponse:
    """The page of one version, with what was refused about it."""
    access = access_of(request, namespace)
    [kept] = histories.told(namespace, [one])
    publication = namespace.serving
    context = {
        "one": kept,
        "by": caller(namespace, one.created_by),
        "against": published(namespace, publication),
        "publication": publication,
        "params": params(one),
        "shadow": shadow.of(namespace),
        "refused": refused,
        "wrong": wrong,
        "typed": request.POST,
        "may_write": access.allows(Role.WRITE),
        "admin": access.allows(Role.ADMIN),
        "sets": list(JudgementSet.objects.within(namespace).order_by("name")[:50]),
        "parts": Part.values,
        **measured(namespace, kept),
        **checked(namespace, one),
    }
    context["from_served"] = [] if kept.serving else differences(context["against"], one)
    return render_page(request, "memories/profile.html", context, partial="work", status=status)


def params(one: ProfileVersion) -> list[dict[str, Any]]:
    """What a version gives, beside the defaults."""
    declared = SYSTEMS[one.system].params.declared() if one.system in SYSTEMS else {}
    return [
        {"name": name, "declared": declared.get(name), "value": value} for name, value in sorted(one.params.items())
    ]


def measured(namespace: Namespace, kept: histories.Kept) -> dict[str, Any]:
    """The last evaluation as bars, and the one under way."""
    last = kept.evaluation
    running = Job.objects.within(namespace).filter(
        kind=JobKind.EVALUATE, state__in=UNFINISHED, params__version=str(kept.version.id)
    )
    told: dict[str, Any] = {"measuring": progress(running.order_by("-created_at").first())}
    if last is None:
        return told
    judged = JudgementSet.objects.within(namespace).get(id=last.judgement_set_id)
    rows = [
        {"name": name, "error": metric in ERRORS, **last.metrics[metric], **bar(last.metrics[metric])}
        for metric, name in (NAMES | ERRORS).items()
        if metric in last.metrics
    ]
    return {**told, "evaluation": last, "judged": judged, "on": PARTS[last.part], "metrics": rows}


def bar(metric: Mapping[str, float]) -> dict[str, float]:
    """Where a metric's interval lies on a track from 0 to 1, in percent."""
    return {
        "left": 100 * metric["low"],
        "width": max(100 * (metric["high"] - metric["low"]), 0.5),
        "mark": 100 * metric["mean"],
    }


def progress(job: Job | None) -> dict[str, Any] | None:
    """A job under way and how much of it is done."""
    return {"job": job, "percent": 100 * share(job)} if job else None


def checked(namespace: Namespace, one: ProfileVersion) -> dict[str, Any]:
    """The last check of a version: under way, failed, or what it found and whether that still counts."""
    job = gate.last(namespace, one.id)
    against = publishing.objection(namespace, one)
    told: dict[str, Any] = {"check": job, "objection": str(against or ""), "code": getattr(against, "code", "")}
    if job is None:
        return told
    if job.state in UNFINISHED:
        return {**told, "checking": progress(job)}
    if job.state == JobState.FAILED:
        return told
    replay = job.result.get("replay", {})
    tests = [
        {
            **test,
            "name": (NAMES | ERRORS)[test["metric"]],
            "on": PARTS[test["part"]],
        }
        for test in job.result.get("judge", {}).get("tests", ())
        if test["queries"]
    ]
    return {
        **told,
        "tests": tests,
        "sets_asked": job.result.get("judge", {}).get("sets", ()),
        "replay": replay,
        "turned": questions(namespace, replay, called(one)),
    }


def questions(namespace: Namespace, found: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The questions whose answer changes most, with the ways to see them in the Lab; those past retention are gone."""
    rows = found.get("most_changed", ())
    texts = dict(
        Trace.objects.within(namespace).filter(id__in=[one["trace"] for one in rows]).values_list("id", "query")
    )
    lab = resolve_url("lab", namespace.slug)
    return [
        {
            **one,
            "text": texts[UUID(one["trace"])],
            "then": f"{lab}?{urlencode({'trace': one['trace']})}",
            "now": f"{lab}?{urlencode({'query': texts[UUID(one['trace'])], 'by': name})}",
        }
        for one in rows
        if UUID(one["trace"]) in texts
    ]


@require_GET
@members_only
def text(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """A version as a file to keep beside code."""
    one = version_of(namespace, id)
    name = f"{one.profile.name}-{one.number}.yaml"
    plain = "".join(sign if sign.isascii() and (sign.isalnum() or sign in ".-_") else "-" for sign in name)
    disposition = f'attachment; filename="{plain}"'
    return HttpResponse(
        files.written(one), content_type="application/yaml; charset=utf-8", headers={"Content-Disposition": disposition}
    )
