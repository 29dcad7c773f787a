"""View of the Decay page."""

import math
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

from memories.contracts.number_format import format_days
from memories.models import Namespace
from memories.pages import sliders
from memories.pages.access import members_only
from memories.pages.decay.charts import MemoryDot, decay_chart
from memories.pages.decay.curves import FAMILIES, CurveFamily, DecayCurve
from memories.pages.decay.memory_ages import DAY, ages_by_field, retrievable_memories
from memories.pages.memory_list.facets import MAX_COUNTED
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Config
from memories.web.layout import render_page
from scoring.params import ParamProblem, Params
from scoring.systems import SYSTEMS
from scoring.term import Array

MAX_CHART_DAYS = 1460.0
MAX_LISTED = 20  # memories about to fade
TABLE_AGES = (0, 1, 7, 30, 90, 180, 365, 730)  # days
MAX_FADE_DAYS = 36_500.0  # later dates would overflow a timestamp
DEFAULT_FLOOR = 0.1  # for systems without a freshness floor
DEFAULT_HORIZON = 30 * DAY


@require_GET
@members_only
def decay_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The curves of one system with the namespace's memories on them."""
    family = FAMILIES.get(request.GET.get("system", ""), FAMILIES["recall"])
    params_type, start = SYSTEMS[family.system].params, start_config(namespace, family)
    start_values = {name: value for name, value in start.given.items() if name in family.params}
    changed, param_problems = sliders.parse_valid_params(params_type, request.GET, start_values)
    until, date_problems = parse_horizon(request.GET.get("by", ""), namespace)
    values = {**start_values, **changed}
    report = DecayReport(namespace, family, params_type.of(values), params_type.of(start_values), until)
    context = {
        "family": family,
        "families": FAMILIES.values(),
        "groups": [
            sliders.ParamGroup(group.name, used)
            for group in sliders.param_groups(params_type, values, start_values)
            if (used := [slider for slider in group.sliders if slider.name in family.params])
        ],
        "problems": [*param_problems, *date_problems],
        "start": start,
        "by": until.date(),
        "changed": len(changed),
        **report.to_context(),
    }
    response = render_page(request, "memories/decay.html", context, partial="shown")
    # The URL holds only what differs from the defaults.
    query = {"system": family.system, **sliders.params_to_query(changed)}
    query |= {"by": request.GET["by"]} if until.date() != default_horizon(namespace) else {}
    response["HX-Replace-Url"] = f"?{urlencode(query)}"
    return response


def start_config(namespace: Namespace, family: CurveFamily) -> Config:
    """Start of the sliders: the served configuration if it has these parameters, else the system's defaults."""
    served = resolve_config(namespace, params={})
    if served.system.params.declarations().keys() >= set(family.params):
        return served
    return resolve_config(namespace, system=family.system, params={})


def default_horizon(namespace: Namespace) -> date:
    """The default date by which memories fade."""
    return (namespace.now + DEFAULT_HORIZON).date()


def parse_horizon(text: str, namespace: Namespace) -> tuple[datetime, list[ParamProblem]]:
    """The end of the given day, or of the default one."""
    default = default_horizon(namespace)
    try:
        day, problems = date.fromisoformat(text) if text else default, []
    except ValueError:
        day, problems = default, [ParamProblem("by", f"must be a day such as {default.isoformat()}; got {text!r}")]
    return datetime.combine(day, time.max, namespace.now.tzinfo), problems


@dataclass(frozen=True)
class DecayReport:
    """Chart, table and soon fading memories of one family of curves."""

    namespace: Namespace
    family: CurveFamily
    params: Params
    start_params: Params
    until: datetime

    def to_context(self) -> dict[str, Any]:
        """The template context."""
        dots = self.memory_dots()
        all_dots = [dot for curve_dots in dots.values() for dot in curve_dots]
        oldest = max((dot.age for dot in all_dots), default=0.0)
        half_lives = {curve.name: self.family.half_life(curve, self.params) for curve in self.family.curves}
        median = sorted(half_lives.values())[len(half_lives) // 2]
        max_age = min(max(oldest, 2 * median, 30.0), MAX_CHART_DAYS)
        return {
            "figure": decay_chart(self.family, self.params, self.start_params, dots, floor=self.floor, max_age=max_age),
            "label": self.text_alternative(half_lives),
            "fastest": min(half_lives.items(), key=itemgetter(1)),
            "slowest": max(half_lives.items(), key=itemgetter(1)),
            "table": [
                (age, [float(self.freshness(np.array([float(age)]), curve)[0]) for curve in self.family.curves])
                for age in TABLE_AGES
            ],
            "memories": sum(dot.memories for dot in all_dots),
            "binned": any(dot.memories > 1 for dot in all_dots),
            "floor": self.floor,
            **self.fading_memories(),
        }

    @property
    def floor(self) -> float:
        """Freshness below which a memory counts as faded."""
        if self.family.system != "recall":
            return DEFAULT_FLOOR
        return float(getattr(self.params, "freshness_floor", DEFAULT_FLOOR))

    def freshness(self, ages: Array, curve: DecayCurve) -> Array:
        """Freshness on a curve at some ages."""
        return self.family.freshness(ages, curve, self.params)

    def fade_age(self, curve: DecayCurve) -> float:
        """The age in days at which a curve reaches the floor."""
        if self.floor <= 0:
            return math.inf
        return self.family.half_life(curve, self.params) * math.log2(1 / self.floor)

    @property
    def memory_curves(self) -> list[DecayCurve]:
        """The curves that memories are plotted on."""
        return [curve for curve in self.family.curves if curve.memory_filter or curve.name == self.family.query_curve]

    def memory_dots(self) -> dict[str, list[MemoryDot]]:
        """The memories on each curve."""
        curves = self.memory_curves
        ages = ages_by_field(self.namespace, self.family.age_source, next(iter(curves[0].memory_filter), ""))
        dots = {}
        for curve in curves:
            points = ages.get("".join(curve.memory_filter.values()), [])
            freshness = self.freshness(np.array([point.days for point in points]), curve)
            dots[curve.name] = [
                MemoryDot(point.days, float(value), point.memories, point.label)
                for point, value in zip(points, freshness, strict=True)
            ]
        return dots

    def text_alternative(self, half_lives: dict[str, float]) -> str:
        """Text alternative of the chart."""
        halves = ", ".join(f"{name} halves in {format_days(days)}" for name, days in half_lives.items())
        return f"Freshness under {self.family.system} by age: {halves}."

    def fading_memories(self) -> dict[str, Any]:
        """The memories that fall below the floor between now and the horizon, soonest first."""
        now, source = self.namespace.now, self.family.age_source
        conditions, lifetimes, lifetime = list[Q](), list[When](), timedelta()
        for curve in self.memory_curves:
            if (days := self.fade_age(curve)) < MAX_FADE_DAYS:
                lifetime = timedelta(days=days)
                conditions.append(Q(**curve.memory_filter) & source.between(now - lifetime, self.until - lifetime))
                lifetimes += [When(**curve.memory_filter, then=Value(lifetime))] if curve.memory_filter else []
        memories = retrievable_memories(self.namespace)
        fading = memories.filter(reduce(or_, conditions)) if conditions else memories.none()
        lifetime_of_row = Case(*lifetimes, default=Value(lifetime), output_field=DurationField())
        fades = ExpressionWrapper(source.expression + lifetime_of_row, output_field=DateTimeField())
        soonest = list(fading.annotate(fades=fades).order_by("fades", "id")[:MAX_LISTED])
        count = fading[:MAX_COUNTED].count() if len(soonest) == MAX_LISTED else len(soonest)
        return {"fading": count, "capped": count == MAX_COUNTED, "soonest": soonest}
