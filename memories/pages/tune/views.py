"""Views of the Tune page: move a parameter and see its effect on every judged query."""

import time
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import resolve_url
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from memories.jobs.registry import job_completion
from memories.jobs.tuning_jobs import submit_trace_job, unfinished_trace_job
from memories.models import Namespace
from memories.models.choices import Role
from memories.pages import sliders
from memories.pages.access import access_of, members_only, require_role
from memories.pages.lab.forms import ranking_options
from memories.pages.tune import charts
from memories.pages.tune.forms import SPLIT_LABELS, TuneState, parse_tune_state, start_changed
from memories.pages.tune.metric_report import staleness_sentences, tune_report
from memories.retrieval.inert import inert_reasons
from memories.tuning import profile_versions
from memories.tuning.array_cache import cached_arrays
from memories.tuning.arrays import Arrays
from memories.tuning.measurement import METRIC_NAMES, align_measurements, measure_config
from memories.tuning.optimiser import tunable_params
from memories.tuning.rrf_sweep import SYSTEMS_WITH_K, sweep_rrf_k
from memories.tuning.sensitivity import RRF_K, SensitivityCurve, metric_at, params_needing_new_query, sensitivity_curves
from memories.tuning.traced_sets import staleness
from memories.web.layout import render_page

CURVES_BUDGET_S = 2.5  # time budget of one request for curves
TEMPLATE = "memories/tune.html"


@require_GET
@members_only
def tune(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """A system's sliders and the metrics of the judged set under their values."""
    began = time.perf_counter()
    state = parse_tune_state(namespace, request.GET)
    htmx = getattr(request, "htmx", False)
    if htmx and start_changed(request.GET):
        return HttpResponseClientRedirect(f"{request.path}?{state.query_string}")  # the new start has its own sliders
    context: dict[str, Any] = {"state": state, "job": tune_tracing_job(state), "problems": state.problems}
    context["inert"] = inert_reasons(state.config)
    traced = state.traced_set(state.config)
    if traced is not None:
        start, features = state.traced_set(state.start), cached_arrays(traced)
        before = measure_config(features if start in (None, traced) else cached_arrays(start), state.start)
        age = staleness(traced)
        context |= {
            "traced": traced,
            "staleness": staleness_sentences(age, start_untraced=start is None),
            "rerun_offered": bool(age.timed_out or not age.current),
        }
        context |= tune_report(state, *align_measurements(before, measure_config(features, state.config)))
    if not htmx:
        context |= tune_form_context(request, state)
    context["took"] = 1000 * (time.perf_counter() - began)
    response = render_page(request, TEMPLATE, context, partial="moved")
    response["HX-Replace-Url"] = f"?{state.query_string}"
    response["HX-Trigger-After-Settle"] = "recall:tuned"
    return response


def tune_form_context(request: HttpRequest, state: TuneState) -> dict[str, Any]:
    """The sliders and the options of the form."""
    start = state.start
    access = access_of(request, state.namespace)
    return {
        "groups": sliders.param_groups(
            start.system.params,
            {**start.given, **state.changed},
            start.given,
            inert=inert_reasons(state.config),
        ),
        "ranking_options": ranking_options(state.namespace),
        "splits": [(split or "all", name) for split, name in SPLIT_LABELS.items()],
        "selected_split": state.split or "all",
        "choices": METRIC_NAMES.items(),
        "may_save": access.allows(Role.WRITE),
        "max_name_length": profile_versions.MAX_NAME_LENGTH,
    }


def tune_tracing_job(state: TuneState) -> dict[str, Any] | None:
    """The unfinished job that traces this set, with its progress."""
    job = unfinished_trace_job(state.namespace, state.judgement_set) if state.judgement_set else None
    return {"job": job, "percent": 100 * job_completion(job)} if job else None


@require_GET
@members_only
def sensitivity(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Sensitivity curves, as many as fit the time budget; the page polls until it has all."""
    state = parse_tune_state(namespace, request.GET)
    traced = state.traced_set(state.config)
    if traced is None:
        return HttpResponse(status=204)
    groups = sliders.param_groups(state.start.system.params, {**state.start.given, **state.changed}, state.start.given)
    by_name = {slider.name: slider for group in groups for slider in group.sliders}
    features = cached_arrays(traced)
    names = sorted(tunable_params(state.config), key=lambda name: name != RRF_K)  # first: it has its own panel
    curves = list(sensitivity_curves(features, state.config, state.metric, state.split, CURVES_BUDGET_S, names))
    k_curve = next((curve for curve in curves if curve.name == RRF_K), None)
    context = {
        "state": state,
        "metric": METRIC_NAMES[state.metric],
        "sparks": charts.sparklines(curves, by_name, state.metric),
        "tornado": charts.tornado_chart(curves, by_name),
        "strongest": charts.strongest_params_sentence(curves, by_name),
        **(k_sweep_context(state, features, k_curve, by_name[RRF_K]) if k_curve else {}),
        "systems_with_k": [(name, replace(state, by=name, changed={}).query_string) for name in SYSTEMS_WITH_K],
        "needs_new_query": [charts.slider_title(by_name[name]) for name in params_needing_new_query(state.config)],
        "remaining": len(names) - len(curves),
        "table": [
            (charts.slider_title(by_name[curve.name]), curve)
            for curve in sorted(curves, key=lambda curve: -curve.effect_size)
        ],
    }
    return render_page(request, "memories/tune_curves.html", context)


def k_sweep_context(
    state: TuneState, features: Arrays, curve: SensitivityCurve, slider: sliders.Slider
) -> dict[str, Any]:
    """The RRF k sweep: its curve, and the paper's values with intervals."""
    default_metric = metric_at(features, state.config, RRF_K, slider.default, state.metric, state.split)
    if default_metric is None:
        default_metric = curve.current_metric
    chart = charts.k_sweep_chart(curve, slider, state.metric, default_metric)
    return {"sweep_chart": chart, "sweep": sweep_rrf_k(features, state.config, state.metric, state.split)}


@require_POST
@members_only
def start_tune_tracing(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Start a job that traces the judged set with this configuration."""
    access = require_role(request, namespace, Role.WRITE)
    state = parse_tune_state(namespace, QueryDict(request.POST.get("here", "")))
    if state.judgement_set is not None:
        submit_trace_job(namespace, state.judgement_set, state.config, by=access.caller)
        messages.success(request, "The queries are being run; the metrics appear when all are done.")
    return HttpResponseRedirect(f"{resolve_url('tune', namespace.slug)}?{state.query_string}")


@require_POST
@members_only
def save_tuned_profile(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Save the configuration as the next version of a profile; not served until published."""
    require_role(request, namespace, Role.WRITE)
    state = parse_tune_state(namespace, QueryDict(request.POST.get("here", "")))
    name = request.POST.get("name", "").strip()
    if problem := profile_versions.profile_name_problem(name):
        messages.error(request, f"The name {problem}.")
        return HttpResponseRedirect(f"{resolve_url('tune', namespace.slug)}?{state.query_string}")
    version = profile_versions.add_profile_version(
        namespace,
        name=name,
        system=state.start.system.name,
        params=dict(state.config.given),
        parent=state.start.version_id,
        note=f"Tuned on {state.judgement_set}." if state.judgement_set else "",
        by=request.user.get_username(),
    )
    label = profile_versions.version_label(version)
    messages.success(request, f"Saved as {label}. It is not served until it is published.")
    query_string = replace(state, by=label, changed={}).query_string
    return HttpResponseRedirect(f"{resolve_url('tune', namespace.slug)}?{query_string}")
