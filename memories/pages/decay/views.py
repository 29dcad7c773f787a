"""How memories fade: every curve with its sliders, the namespace's own memories on it, and who fades by a day."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import reduce
from operator import itemgetter, or_
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.db.models import Case, DateTimeField, DurationField, ExpressionWrapper, Q, Value, When
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from memories.models import Namespace
from memories.pages import sliders
from memories.pages.access import members_only
from memories.pages.chart_parts import MemoryDot, line_trace, memory_markers, spread_labels, text_annotation
from memories.pages.decay.memory_ages import DAY, Aged, Since, aged, stored
from memories.pages.memory_list.facets import MAX_COUNTED
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Config
from memories.templatetags.numbers import figure as written
from memories.templatetags.spans import days
from recall_site.layout import render_page
from scoring.freshness import exponential_decay as faded
from scoring.freshness import half_life_of
from scoring.params import ParamProblem, Params
from scoring.signals import INTENTS, KINDS, TYPES, Signals
from scoring.systems import SYSTEMS, contextdb, memorysync, recall
from scoring.term import Array

HOURS = 24
POINTS = 181  # of a curve
LONGEST = 1460.0  # days that a chart shows
SOON = 20  # memories that the list of those about to fade names
TOLD = (0, 1, 7, 30, 90, 180, 365, 730)  # days that the table tells
NEVER = 36_500.0  # days after which nobody asks
TICKS = {"tickvals": [1 / 24, 1, 7, 30, 365], "ticktext": ["1 h", "1 d", "7 d", "30 d", "1 y"]}
SHARES = [0, 0.2, 0.4, 0.6, 0.8, 1]  # that the scale of what is kept names
NAME = 0.2  # of a chart's width that a name may take, and how far the next stands below it
BELOW = 0.07
FADED = 0.1  # where a system names no floor


@dataclass(frozen=True)
class Curve:
    """One way of fading: its name, the parameter that sets its pace, and which memories fade so."""

    name: str
    param: str
    whose: Mapping[str, str]  # the memories' own field and its value; none where the query decides


@dataclass(frozen=True)
class Family:
    """The curves of one system, computed by the system's own code."""

    system: str
    says: str
    curves: Sequence[Curve]
    params: Sequence[str]  # that the curves go by
    kept: Callable[[Array, Curve, Any], Array]  # of ages in days
    halves: Callable[[Curve, Any], float]  # in how many days
    since: Since  # from when a memory's age counts
    by_hours: bool = False  # what fades within hours is drawn by powers of ten


def by_type(ages: Array, curve: Curve, params: recall.FreshnessParams) -> Array:
    """What recall keeps of a memory of a type."""
    types = np.full(len(ages), TYPES.index(curve.name))
    return recall.recall_freshness(
        Signals(ids=np.arange(len(ages)).astype(str), type=types, age_days=ages), params
    ).value


def by_intent(ages: Array, curve: Curve, params: memorysync.MemorysyncParams) -> Array:
    """What memorysync keeps for a query of an intent."""
    signals = Signals(ids=np.arange(len(ages)).astype(str), age_days=ages, intent=curve.name)
    return memorysync.raw_factors(signals, params.with_values(intent="query"))["recency"].value


def by_kind(ages: Array, curve: Curve, params: contextdb.ContextdbParams) -> Array:
    """What contextdb keeps of a memory of a kind."""
    return np.asarray(faded(HOURS * ages, rate(curve, params)))


def rate(curve: Curve, params: contextdb.ContextdbParams) -> float:
    """The rate at which contextdb lets a kind fade."""
    signals = Signals(ids=np.array(["any"]), kind=np.array([KINDS.index(curve.name)]))
    return float(contextdb.alpha(signals, params).value.item())


CREATED = Since(("created_at",))
FAMILIES = {
    "recall": Family(
        "recall",
        "five types of memory",
        [Curve(type, f"half_life_{type.lower()}", {"type": type}) for type in TYPES],
        [*(f"half_life_{type.lower()}" for type in TYPES), "freshness_floor"],
        by_type,
        lambda curve, params: float(getattr(params, curve.param)),
        CREATED,
    ),
    "memorysync": Family(
        "memorysync",
        "three intents of a query",
        [Curve(intent, f"half_life_{intent.lower()}", {}) for intent in INTENTS],
        [f"half_life_{intent.lower()}" for intent in INTENTS],
        by_intent,
        lambda curve, params: float(getattr(params, curve.param)) / HOURS,
        CREATED,
        by_hours=True,
    ),
    "contextdb": Family(
        "contextdb",
        "five kinds of memory",
        [Curve(kind, "alpha" if kind == "general" else f"alpha_{kind}", {"kind": kind}) for kind in KINDS],
        ["alpha_by", "alpha", *(f"alpha_{kind}" for kind in KINDS if kind != "general")],
        by_kind,
        lambda curve, params: float(half_life_of(rate(curve, params))) / HOURS,
        Since(("valid_from", "created_at")),
        by_hours=True,
    ),
}
USUAL_CURVE = {"memorysync": "MEDIUM"}  # on which memories are drawn where the query decides


@require_GET
@members_only
def decay(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The curves of one system with the namespace's memories on them."""
    family = FAMILIES.get(request.GET.get("system", ""), FAMILIES["recall"])
    params_of, start = SYSTEMS[family.system].params, started(namespace, family)
    usual = {name: value for name, value in start.given.items() if name in family.params}
    changed, problems = sliders.parse_valid_params(params_of, request.GET, usual)
    until, wrong = chosen_day(request.GET.get("by", ""), namespace)
    shown = Shown(namespace, family, params_of.of({**usual, **changed}), params_of.of(usual), until)
    context = {
        "family": family,
        "families": FAMILIES.values(),
        "groups": [
            sliders.ParamGroup(group.name, some)
            for group in sliders.param_groups(params_of, {**usual, **changed}, usual)
            if (some := [one for one in group.sliders if one.name in family.params])
        ],
        "problems": [*(ParamProblem(at, message) for at, message in problems.items()), *wrong],
        "start": start,
        "sent": request.GET,
        "by": until.date(),
        "changed": len(changed),
        **shown.told(),
    }
    response = render_page(request, "memories/decay.html", context, partial="shown")
    # The address tells what differs, and nothing else.
    told = {"system": family.system, **sliders.params_to_query(changed)}
    told |= {"by": request.GET["by"]} if until.date() != usual_day(namespace) else {}
    response["HX-Replace-Url"] = f"?{urlencode(told)}"
    return response


def started(namespace: Namespace, family: Family) -> Config:
    """From where the sliders start: what serves where it has these parameters, else the system as it ships."""
    served = resolve_config(namespace, params={})
    if served.system.params.declarations().keys() >= set(family.params):
        return served
    return resolve_config(namespace, system=family.system, params={})


def usual_day(namespace: Namespace) -> date:
    """The day by which fading is told unless somebody asks for another."""
    return (namespace.now + 30 * DAY).date()


def chosen_day(text: str, namespace: Namespace) -> tuple[datetime, list[ParamProblem]]:
    """The end of the day by which memories may have faded; without one, in thirty days."""
    usual = usual_day(namespace)
    try:
        day, wrong = date.fromisoformat(text) if text else usual, []
    except ValueError:
        day, wrong = usual, [ParamProblem("by", f"must be a day such as {usual.isoformat()}; got {text!r}")]
    return datetime.combine(day, time.max, namespace.now.tzinfo), wrong


@dataclass(frozen=True)
class Shown:
    """What the page shows of one family of curves."""

    namespace: Namespace
    family: Family
    params: Params
    usual: Params
    until: datetime

    def told(self) -> dict[str, Any]:
        """The chart, the table, and who fades by the chosen day."""
        dots = self.dots()
        oldest = max((dot.age for some in dots.values() for dot in some), default=0.0)
        paces = {curve.name: self.family.halves(curve, self.params) for curve in self.family.curves}
        longest = min(max(oldest, 2 * sorted(paces.values())[len(paces) // 2], 30.0), LONGEST)
        return {
            "figure": self.figure(dots, longest),
            "label": self.label(paces),
            "fastest": min(paces.items(), key=itemgetter(1)),
            "slowest": max(paces.items(), key=itemgetter(1)),
            "paces": [(curve, paces[curve.name]) for curve in self.family.curves],
            "table": [
                (age, [float(self.kept(np.array([float(age)]), one)[0]) for one in self.family.curves]) for age in TOLD
            ],
            "memories": sum(dot.memories for some in dots.values() for dot in some),
            "together": any(dot.memories > 1 for some in dots.values() for dot in some),
            "floor": self.floor,
            **self.fading(),
        }

    @property
    def floor(self) -> float:
        """Below what a memory counts as faded."""
        return float(getattr(self.params, "freshness_floor", FADED)) if self.family.system == "recall" else FADED

    def kept(self, ages: Array, curve: Curve, params: Params | None = None) -> Array:
        """What a curve keeps at some ages."""
        return self.family.kept(ages, curve, params or self.params)

    def fades_at(self, curve: Curve) -> float:
        """The age in days at which a curve reaches the floor."""
        if self.floor <= 0:
            return math.inf
        return self.family.halves(curve, self.params) * math.log2(1 / self.floor)

    def draws(self, curve: Curve) -> bool:
        """Whether memories are drawn on a curve."""
        return bool(curve.whose) or curve.name == USUAL_CURVE.get(self.family.system)

    def dots(self) -> dict[str, list[MemoryDot]]:
        """The memories of every curve that has any, on it."""
        drawn = [curve for curve in self.family.curves if self.draws(curve)]
        found = aged(self.namespace, self.family.since, next(iter(drawn[0].whose), ""))
        return {curve.name: self.on(curve, found.get("".join(curve.whose.values()), [])) for curve in drawn}

    def on(self, curve: Curve, some: Sequence[Aged]) -> list[MemoryDot]:
        """Memories where they stand on a curve."""
        kept = self.kept(np.array([one.days for one in some]), curve)
        return [MemoryDot(one.days, float(left), one.memories, one.says) for one, left in zip(some, kept, strict=True)]

    def figure(self, dots: Mapping[str, Sequence[MemoryDot]], longest: float) -> dict[str, Any]:
        """Every curve to its named end, where it ran before it was moved, and the memories on it."""
        by_hours = self.family.by_hours
        ages = np.geomspace(1 / HOURS, longest, POINTS) if by_hours else np.linspace(0.0, longest, POINTS)
        across = (
            {"type": "log", "range": [math.log10(ages[0]), math.log10(longest)], **TICKS}
            if by_hours
            else {"range": [0, longest]}
        )
        data: list[dict[str, Any]] = []
        notes: list[dict[str, Any]] = []
        for curve, place in zip(self.family.curves, self.named(ages), strict=True):
            now, before = self.kept(ages, curve), self.kept(ages, curve, self.usual)
            moved = not np.array_equal(now, before)
            if moved:
                data.append(line_trace(ages, before, {"color": "$control", "width": 1.5, "dash": "dot"}))
            data.append(line_trace(ages, now, {"color": "$ink" if moved else "$ink-2", "width": 2.5 if moved else 1.5}))
            notes.append(text_annotation(*place, curve.name, xshift=6, bgcolor="$surface"))
        data += [memory_markers(some) for some in dots.values() if some]
        floor = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": self.floor, "y1": self.floor}
        notes.append(text_annotation(0.0, self.floor, f"floor {written(self.floor)}", yshift=-8))
        return {
            "data": data,
            "layout": {
                "margin": {"l": 40, "r": 88, "t": 8, "b": 40},
                "xaxis": {**across, "title": {"text": "age" if by_hours else "age in days"}, "showgrid": False},
                "yaxis": {
                    "range": [0, 1.04],
                    "title": {"text": "kept"},
                    "tickvals": SHARES,
                    "ticktext": [written(one) for one in SHARES],
                },
                "shapes": [{**floor, "line": {"color": "$ink-3", "width": 1, "dash": "dash"}}],
                "annotations": notes,
            },
            "narrow": {"margin": {"l": 34, "r": 72, "t": 8, "b": 40}},
        }

    def named(self, ages: Array) -> list[tuple[float, float]]:
        """Where each curve's name stands: at its end, or about where it has halved, none upon another."""
        if not self.family.by_hours:
            return [
                (1.0, end) for end in spread_labels([float(self.kept(ages[-1:], one)[0]) for one in self.family.curves])
            ]
        # By powers of ten all end at nothing.
        places, last, width = dict[str, tuple[float, float]](), (-1.0, 0.5), math.log(ages[-1] * HOURS)
        for curve in sorted(self.family.curves, key=lambda one: self.family.halves(one, self.params)):
            halves = self.family.halves(curve, self.params) * HOURS
            near = math.log(max(halves, 1.0)) / width - last[0] < NAME
            height = last[1] - BELOW if near else 0.5
            last = math.log(max(halves * math.log2(1 / height), 1.0)) / width, height
            places[curve.name] = last
        return [places[curve.name] for curve in self.family.curves]

    def label(self, paces: Mapping[str, float]) -> str:
        """What the chart shows, in words."""
        halves = ", ".join(f"{name} halves in {days(pace)}" for name, pace in paces.items())
        return f"What {self.family.system} keeps of a memory by its age: {halves}."

    def fading(self) -> dict[str, Any]:
        """The memories that are above the floor today and below it by the chosen day, the first to fade first."""
        now, since, chosen, spans = self.namespace.now, self.family.since, list[Q](), list[When]()
        span = timedelta()
        for curve in self.family.curves:
            if self.draws(curve) and (lasts := self.fades_at(curve)) < NEVER:
                span = timedelta(days=lasts)
                chosen.append(Q(**curve.whose) & since.within(now - span, self.until - span))
                spans += [When(**curve.whose, then=Value(span))] if curve.whose else []
        mine = stored(self.namespace)
        fades = mine.filter(reduce(or_, chosen)) if chosen else mine.none()
        lasting = Case(*spans, default=Value(span), output_field=DurationField())
        day = ExpressionWrapper(since.expression + lasting, output_field=DateTimeField())
        rows = list(fades.annotate(fades=day).order_by("fades", "id")[:SOON])
        return {
            "fades": fades[:MAX_COUNTED].count() if len(rows) == SOON else len(rows),
            "counted": MAX_COUNTED,
            "soonest": rows,
        }
