"""Move a parameter and see what it does to every judged query at once."""

import time
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import resolve_url
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from memories.jobs.registry import share
from memories.jobs.starting import BusyError
from memories.models import Job, Namespace
from memories.models.choices import JobKind, Role
from memories.models.job import UNFINISHED
from memories.pages import sliders
from memories.pages.access import access_of, demanded, members_only
from memories.pages.lab.address import ways
from memories.pages.tune import curves as drawing
from memories.pages.tune.shown import shown
from memories.pages.tune.state import PARTS, State, elsewhere, state_of
from memories.tuning import profiles
from memories.tuning.arrays import Arrays
from memories.tuning.evaluating import NAMES, measured, shared
from memories.tuning.holding import arrays
from memories.tuning.optimising import movable
from memories.tuning.sensitivity import SWEPT, Curve, asking_again, at, curves
from memories.tuning.sweeping import HAVE_K, sweep
from memories.tuning.tracing import age, begin
from recall_site.layout import render_page

PATIENCE = 2.5  # seconds that one look at the curves may take
TEMPLATE = "memories/tune.html"


@require_GET
@members_only
def tune(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The sliders of a system, and the metrics of the judged set under them."""
    began = time.perf_counter()
    state = state_of(namespace, request.GET)
    htmx = getattr(request, "htmx", False)
    if htmx and elsewhere(request.GET):
        return HttpResponseClientRedirect(f"{request.path}?{state.address}")  # with sliders of its own
    context: dict[str, Any] = {"state": state, "job": job_of(state), "problems": state.problems}
    whole = state.traced(state.setting)
    if whole is not None:
        start, held = state.traced(state.start), arrays(whole)
        before = measured(held if start in (None, whole) else arrays(start), state.start)
        context |= {"traced": whole, "age": age(whole), "borrowed": start is None}
        context |= shown(state, *shared(before, measured(held, state.setting)))
    if not htmx:
        context |= frame(request, state)
    context["took"] = 1000 * (time.perf_counter() - began)
    response = render_page(request, TEMPLATE, context, partial="moved")
    response["HX-Replace-Url"] = f"?{state.address}"
    response["HX-Trigger-After-Settle"] = "recall:tuned"
    return response


def frame(request: HttpRequest, state: State) -> dict[str, Any]:
    """What stands around the metrics: the sliders, and what can be chosen."""
    start = state.start
    access = access_of(request, state.namespace)
    return {
        "groups": sliders.groups(start.system.params, {**start.given, **state.changed}, start.given),
        "ways": ways(state.namespace),
        "parts": [(one or "all", name) for one, name in PARTS.items()],
        "choices": NAMES.items(),
        "may_save": access.allows(Role.WRITE),
        "longest": profiles.LONGEST_NAME,
    }


def job_of(state: State) -> dict[str, Any] | None:
    """The asking of this set that is under way."""
    open = Job.objects.within(state.namespace).filter(kind=JobKind.TRACE, state__in=UNFINISHED)
    job = open.filter(params__set=str(state.judged.id)).order_by("created_at").last() if state.judged else None
    return {"job": job, "percent": 100 * share(job)} if job else None


@require_GET
@members_only
def sensitivity(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The curve beside each slider, as many as there is time for; the page asks on until it has all."""
    state = state_of(namespace, request.GET)
    whole = state.traced(state.setting)
    if whole is None:
        return HttpResponse(status=204)
    declared = sliders.groups(state.start.system.params, {**state.start.given, **state.changed}, state.start.given)
    known = {one.name: one for group in declared for one in group.sliders}
    held = arrays(whole)
    names = sorted(movable(state.setting), key=lambda name: name != SWEPT)  # which has a panel of its own
    found = list(curves(held, state.setting, state.metric, state.part, PATIENCE, names))
    swept = next((one for one in found if one.name == SWEPT), None)
    context = {
        "state": state,
        "metric": NAMES[state.metric],
        "sparks": drawing.sparks(found, known, state.metric),
        "tornado": drawing.tornado(found, known),
        "strongest": drawing.strongest(found, known),
        **(k_of(state, held, swept, known[SWEPT]) if swept else {}),
        "have_k": [(name, replace(state, by=name, changed={}).address) for name in HAVE_K],
        "asks_again": [drawing.named(known[name]) for name in asking_again(state.setting)],
        "left": len(names) - len(found),
        "table": [(drawing.named(known[one.name]), one) for one in sorted(found, key=lambda one: -one.swing)],
    }
    return render_page(request, "memories/tune_curves.html", context)


def k_of(state: State, held: Arrays, curve: Curve, slider: sliders.Slider) -> dict[str, Any]:
    """The sweep of k: its curve, and what the paper looked at with intervals."""
    usual = at(held, state.setting, SWEPT, slider.default, state.metric, state.part)
    figure = drawing.sweep(curve, slider, state.metric, curve.here if usual is None else usual)
    return {"sweep_figure": figure, "sweep": sweep(held, state.setting, state.metric, state.part)}


@require_POST
@members_only
def ask(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Have the judged set asked under the candidates of this setting."""
    access = demanded(request, namespace, Role.WRITE)
    state = state_of(namespace, QueryDict(request.POST.get("here", "")))
    if state.judged is not None:
        try:
            begin(namespace, state.judged, state.setting, by=access.caller)
            messages.success(request, "The questions are being asked; the metrics come when all are answered.")
        except BusyError as error:
            messages.warning(request, str(error))
    return HttpResponseRedirect(f"{resolve_url('tune', namespace.slug)}?{state.address}")


@require_POST
@members_only
def save(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Keep the setting as the next version of a profile; it serves nobody until it is published."""
    demanded(request, namespace, Role.WRITE)
    state = state_of(namespace, QueryDict(request.POST.get("here", "")))
    name = request.POST.get("name", "").strip()
    if wrong := profiles.flaw(name):
        messages.error(request, f"The name {wrong}.")
        return HttpResponseRedirect(f"{resolve_url('tune', namespace.slug)}?{state.address}")
    version = profiles.add_version(
        namespace,
        name=name,
        system=state.start.system.name,
        params=dict(state.setting.given),
        parent=state.start.version_id,
        note=f"Tuned on {state.judged}." if state.judged else "",
        by=request.user.get_username(),
    )
    kept = profiles.called(version)
    messages.success(request, f"Kept as {kept}. It serves nobody until it is published.")
    here = replace(state, by=kept, changed={}).address
    return HttpResponseRedirect(f"{resolve_url('tune', namespace.slug)}?{here}")
