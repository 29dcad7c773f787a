"""What each retriever is good for: the metric without it, what only it found, and whose lists are alike."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, resolve_url
from django.views.decorators.http import require_GET, require_POST
from rest_framework.exceptions import ValidationError

from memories.api.judgements import set_named
from memories.api.optimise import AblationQuery, setting_of
from memories.api.serializers import checked
from memories.models import Job, JudgementSet, Namespace
from memories.models.choices import JobKind, Role
from memories.models.job import UNFINISHED
from memories.pages.access import access_of, demanded, members_only
from memories.pages.lab.address import ways
from memories.pages.optimise.form import sets, told
from memories.pages.optimise.run import interval
from memories.retrieval.query import Setting
from memories.retrieval.settings import said as ranked_by
from memories.templatetags.numbers import chance
from memories.templatetags.routes import called
from memories.tuning import tracing
from memories.tuning.ablating import TOP, Ablated, Ablation, ablation
from memories.tuning.arrays import Arrays
from memories.tuning.evaluating import MAIN, NAMES
from memories.tuning.holding import arrays
from memories.tuning.objective import Objective, some_of
from recall_site.layout import render_page

TEMPLATE = "memories/ablation.html"
FIELDS = {"set": "", "by": "", "metric": MAIN}
DARKEST = 0.38  # a cell of the map, so that ink stays readable upon it
MOST = 400  # queries that are measured while somebody waits
SHOW = "show"  # in an address: with the numbers at once, for browsers without a script


@require_GET
@members_only
def ablated(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The form at once; the numbers follow, since the set may have to be loaded for them."""
    offered = sets(namespace)
    typed = typed_of(request.GET, offered)
    htmx = getattr(request, "htmx", False)
    context: dict[str, Any] = {
        "namespace": namespace,
        "typed": typed,
        "here": urlencode(typed),
        "may_ask": access_of(request, namespace).allows(Role.WRITE),
    }
    status = 200
    if typed["set"] and (htmx or SHOW in request.GET):
        try:
            context |= result(namespace, typed)
        except ValidationError as error:
            context["wrong"] = [{"at": at, "message": message} for at, message in told(error).items()]
            status = 200 if htmx else 400  # htmx shows nothing of a refusal
    context |= {"sets": offered, "ways": ways(namespace), "metrics": NAMES.items()}
    response = render_page(request, TEMPLATE, context, partial="result", status=status)
    if htmx:
        response["HX-Replace-Url"] = f"?{urlencode(typed)}"
    return response


@require_POST
@members_only
def asked(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Have a set asked, so that it can be measured."""
    access = demanded(request, namespace, Role.WRITE)
    typed = typed_of(request.POST, sets(namespace))
    try:
        judged, setting, _ = read(namespace, typed)
        tracing.begin(namespace, judged, setting, by=access.caller)
    except ValidationError:
        pass  # the page says what is wrong
    return redirect(f"{resolve_url('ablation', namespace.slug)}?{urlencode(typed)}")


def typed_of(sent: QueryDict, offered: Sequence[JudgementSet]) -> dict[str, str]:
    """What the address says; without a set, the first."""
    typed = {name: sent.get(name, usual).strip() for name, usual in FIELDS.items()}
    return typed | {"set": typed["set"] or (str(offered[0].id) if offered else "")}


def read(namespace: Namespace, typed: dict[str, str]) -> tuple[JudgementSet, Setting, str]:
    """The set, the setting and the metric that are meant (ValidationError)."""
    said = {"set": typed["set"], "metric": typed["metric"], **ranked_by(typed["by"])}
    query = checked(AblationQuery(data=said))
    return set_named(namespace, query.get("set", "")), setting_of(namespace, query, {}), query["metric"]


def result(namespace: Namespace, typed: dict[str, str]) -> dict[str, Any]:
    """The ablation of a set that was asked; else how far the asking is."""
    judged, setting, metric = read(namespace, typed)
    traced = tracing.traced(namespace, judged, setting)
    if traced is None:
        return {"asking": asking(namespace, judged, setting), "missing": True}
    whole = arrays(traced)
    found = ablation(sampled(whole), setting, Objective(metric))
    return {
        "found": found,
        "answerable": int(whole.answerable.sum()),
        "system": setting.system.name,
        "metric": NAMES[metric],
        "head": finding(found),
        "rows": rows(found),
        "top": TOP,
        "map": heat(found),
        "age": tracing.age(traced),
        "alike": alike(found),
    }


def sampled(whole: Arrays) -> Arrays:
    """The queries, or where they are many some from all over the set."""
    every = -(-len(whole.queries) // MOST)
    return whole if every <= 1 else some_of(whole, np.arange(len(whole.queries)) % every == 0)


def asking(namespace: Namespace, judged: JudgementSet, setting: Setting) -> Job | None:
    """The job that asks the set, where one does."""
    open = Job.objects.within(namespace).filter(kind=JobKind.TRACE, state__in=UNFINISHED)
    return open.filter(params__set=str(judged.id), params__system=setting.system.name).first()


def finding(found: Ablation) -> str:
    """Who is missed most, in words."""
    worst = min(found.routes, key=lambda one: one.gain.difference)
    if worst.gain.difference < 0 and worst.proven:
        return f"{called(worst.route).capitalize()} would be missed most"
    return "No retriever would be missed"


def rows(found: Ablation) -> list[dict[str, Any]]:
    """The retrievers, those that would be missed most first, all intervals on one scale."""
    widest = max((abs(end) for one in found.routes for end in (one.gain.low, one.gain.high)), default=0.0) or 1.0
    ordered = sorted(found.routes, key=lambda one: one.gain.difference)
    return [
        {
            "one": one,
            "interval": interval(vars(one.gain)),
            "p": chance(one.corrected),
            "says": says(one),
            **{name: 50 + 48 * getattr(one.gain, name) / widest for name in ("low", "high", "difference")},
        }
        for one in ordered
    ]


def says(one: Ablated) -> str:
    """Whether it is missed, in a word."""
    if not one.queries:
        return "found nothing"
    if not one.proven:
        return "no difference proven"
    return "missed" if one.gain.difference < 0 else "in the way"


def heat(found: Ablation) -> list[dict[str, Any]]:
    """The overlap as rows of cells."""
    return [
        {
            "route": one.route,
            "cells": [{"share": share, "dark": DARKEST * share if share else 0} for share in shares],
        }
        for one, shares in zip(found.routes, found.overlap, strict=True)
    ]


def alike(found: Ablation) -> dict[str, Any] | None:
    """The two lists that have most in common."""
    pairs = [
        (share, one.route, found.routes[other].route)
        for place, one in enumerate(found.routes)
        for other, share in enumerate(found.overlap[place][:place])
        if share is not None
    ]
    if not pairs:
        return None
    share, one, other = max(pairs)
    return {"share": share, "one": one, "other": other}
