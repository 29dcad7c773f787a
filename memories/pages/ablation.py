"""The Ablation page: the metric without each retriever, its unique results, and the overlap of ranked lists."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, resolve_url
from django.utils.text import capfirst
from django.views.decorators.http import require_GET, require_POST
from rest_framework.exceptions import ValidationError

from memories.contracts.number_format import format_p_value
from memories.jobs import tuning_jobs
from memories.models import JudgementSet, Namespace
from memories.models.choices import Role
from memories.pages.access import access_of, members_only, require_role
from memories.pages.lab.forms import ranking_options
from memories.pages.optimise.forms import search_form_errors, sets_with_split_counts
from memories.pages.optimise.search_summary import format_interval
from memories.pages.retriever_styles import retriever_style
from memories.retrieval.config import parse_config_label
from memories.retrieval.query import Config
from memories.tuning import traced_sets
from memories.tuning.array_cache import cached_arrays
from memories.tuning.arrays import Arrays
from memories.tuning.measurement import MAIN_METRIC, METRIC_NAMES
from memories.tuning.objective import Objective, arrays_subset
from memories.tuning.retriever_ablation import OVERLAP_DEPTH, AblationReport, RetrieverAblation, ablate_retrievers
from memories.web.evaluation_bodies import AblationQuery, evaluation_config_from_body
from memories.web.judgement_lookups import find_judgement_set
from memories.web.layout import render_page
from memories.web.serializers import valid_values

TEMPLATE = "memories/ablation.html"
FIELDS = {"set": "", "by": "", "metric": MAIN_METRIC}
MAX_OPACITY = 0.38  # of a heatmap cell, so that its text stays readable
MAX_QUERIES = 400  # measured during a request; larger sets are sampled
SHOW_PARAM = "show"  # query parameter: render the results at once, for browsers without JavaScript


@require_GET
@members_only
def ablation_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Render the form at once; htmx then loads the results, since a large set takes time to load."""
    sets = sets_with_split_counts(namespace)
    typed = ablation_form_values(request.GET, sets)
    htmx = getattr(request, "htmx", False)
    context: dict[str, Any] = {
        "namespace": namespace,
        "typed": typed,
        "here": urlencode(typed),
        "may_ask": access_of(request, namespace).allows(Role.WRITE),
    }
    status = 200
    if typed["set"] and (htmx or SHOW_PARAM in request.GET):
        try:
            context |= ablation_context(namespace, typed)
        except ValidationError as error:
            context["problems"] = search_form_errors(error)
            status = 400
    context |= {"sets": sets, "ranking_options": ranking_options(namespace), "metrics": METRIC_NAMES.items()}
    response = render_page(request, TEMPLATE, context, partial="result", status=status)
    if htmx:
        response["HX-Replace-Url"] = f"?{urlencode(typed)}"
    return response


@require_POST
@members_only
def start_ablation_tracing(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Start a job that traces the set."""
    access = require_role(request, namespace, Role.WRITE)
    typed = ablation_form_values(request.POST, sets_with_split_counts(namespace))
    try:
        judgement_set, config, _ = parse_ablation_form(namespace, typed)
        tuning_jobs.submit_trace_job(namespace, judgement_set, config, by=access.caller)
    except ValidationError:
        pass  # the page shows the errors
    return redirect(f"{resolve_url('ablation', namespace.slug)}?{urlencode(typed)}")


def ablation_form_values(data: QueryDict, available: Sequence[JudgementSet]) -> dict[str, str]:
    """The form values; the first set by default."""
    typed = {name: data.get(name, default).strip() for name, default in FIELDS.items()}
    return typed | {"set": typed["set"] or (str(available[0].id) if available else "")}


def parse_ablation_form(namespace: Namespace, raw: dict[str, str]) -> tuple[JudgementSet, Config, str]:
    """The set, configuration and metric; raises ValidationError."""
    body = {"set": raw["set"], "metric": raw["metric"], **parse_config_label(raw["by"])}
    query = valid_values(AblationQuery(data=body))
    return (
        find_judgement_set(namespace, query.get("set", "")),
        evaluation_config_from_body(namespace, query, {}),
        query["metric"],
    )


def ablation_context(namespace: Namespace, raw: dict[str, str]) -> dict[str, Any]:
    """The ablation of a traced set, or the progress of its tracing job."""
    judgement_set, config, metric = parse_ablation_form(namespace, raw)
    traced = traced_sets.latest_traced_set(namespace, judgement_set, config)
    if traced is None:
        job = tuning_jobs.unfinished_trace_job(namespace, judgement_set, config.system.name)
        return {"tracing_job": job, "untraced": True}
    features = cached_arrays(traced)
    report = ablate_retrievers(sample_queries(features), config, Objective(metric))
    return {
        "report": report,
        "answerable": int(features.answerable.sum()),
        "system": config.system.name,
        "metric": METRIC_NAMES[metric],
        "headline": ablation_headline(report),
        "rows": ablation_rows(report),
        "overlap_depth": OVERLAP_DEPTH,
        "heatmap": overlap_heatmap(report),
        "age": traced_sets.staleness(traced),
        "most_similar": most_similar_pair(report),
    }


def sample_queries(features: Arrays) -> Arrays:
    """All queries, or every n-th of a large set."""
    every = -(-len(features.queries) // MAX_QUERIES)
    return features if every <= 1 else arrays_subset(features, np.arange(len(features.queries)) % every == 0)


def ablation_headline(report: AblationReport) -> str:
    """The retriever with the largest significant loss, as a headline."""
    worst = min(report.retrievers, key=lambda effect: effect.gain.difference)
    if worst.gain.difference < 0 and worst.significant:
        return f"{capfirst(retriever_style(worst.retriever).name)} matters most"
    return "No retriever makes a significant difference"


def ablation_rows(report: AblationReport) -> list[dict[str, Any]]:
    """The retrievers by loss without them, largest first; all intervals on one scale."""
    widest = (
        max((abs(end) for effect in report.retrievers for end in (effect.gain.low, effect.gain.high)), default=0.0)
        or 1.0
    )
    ordered = sorted(report.retrievers, key=lambda effect: effect.gain.difference)
    return [
        {
            "effect": effect,
            "interval": format_interval(vars(effect.gain)),
            "p": format_p_value(effect.corrected),
            **ablation_verdict(effect),
            **{name: 50 + 48 * getattr(effect.gain, name) / widest for name in ("low", "high", "difference")},
        }
        for effect in ordered
    ]


def ablation_verdict(effect: RetrieverAblation) -> dict[str, str]:
    """The effect of leaving a retriever out: label, CSS class and colour of its marker."""
    if not effect.queries:
        return {"verdict": "no results", "verdict_class": "muted", "colour": "mid"}
    if not effect.significant:
        return {"verdict": "not significant", "verdict_class": "muted", "colour": "mid"}
    if effect.gain.difference < 0:
        return {"verdict": "▼ loss", "verdict_class": "chip bad", "colour": "ink"}
    return {"verdict": "▲ gain", "verdict_class": "chip good", "colour": "mid"}


def overlap_heatmap(report: AblationReport) -> list[dict[str, Any]]:
    """The overlap as rows of heatmap cells."""
    return [
        {
            "retriever": effect.retriever,
            "cells": [{"share": share, "opacity": MAX_OPACITY * share if share else 0} for share in shares],
        }
        for effect, shares in zip(report.retrievers, report.overlap, strict=True)
    ]


def most_similar_pair(report: AblationReport) -> dict[str, Any] | None:
    """The two ranked lists with the largest overlap."""
    pairs = [
        (share, effect.retriever, report.retrievers[other].retriever)
        for index, effect in enumerate(report.retrievers)
        for other, share in enumerate(report.overlap[index][:index])
        if share is not None
    ]
    if not pairs:
        return None
    share, first, second = max(pairs)
    return {"share": share, "first": first, "second": second}
