"""The Formulas pages: every formula typeset, its constants, and each printed figure beside the computed one."""

import doctest
import sys
from collections.abc import Callable
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from recall_site.layout import render_page
from scoring.catalogue import SOURCES
from scoring.catalogue.entry import Source
from scoring.mathml import typeset
from scoring.params import SCOPES, Declaration, Params
from scoring.policy import PRESETS, WritePolicy
from scoring.systems import SYSTEMS


@require_GET
def formulas(request: HttpRequest) -> HttpResponse:
    """All sources at a glance, and everything in them that their own formulas correct."""
    formulas = [(source, formula) for source in SOURCES for formula in source.formulas]
    figures = [(source, formula, figure) for source, formula in formulas for figure in formula.figures]
    context = {
        "sources": [summary(source) for source in SOURCES],
        "figures": len(figures),
        "errata": [one for one in figures if one[-1].ruling],
        "claims": [(source, formula, claim) for source, formula in formulas for claim in formula.claims],
        "reported": [(source, one) for source in SOURCES for one in source.reported],
    }
    return render_page(request, "scoring/formulas.html", context)


@require_GET
def system(request: HttpRequest, system: str) -> HttpResponse:
    """One source: its formulas in the order of its text, then every parameter of its system."""
    source = next((source for source in SOURCES if source.system == system), None)
    if source is None:
        raise Http404(f"There is no system {system}; there are {', '.join(SYSTEMS)}.")
    context = {
        **summary(source),
        "sources": SOURCES,
        "formulas": [(formula, typeset(formula.tex), live_example(formula.function)) for formula in source.formulas],
        "groups": groups(SYSTEMS[system].params),
        "scopes": SCOPES,
    }
    return render_page(request, "scoring/system.html", context)


@require_GET
def write_policy(request: HttpRequest) -> HttpResponse:
    """Every parameter that counts when a memory is written."""
    context = {
        "sources": SOURCES,
        "groups": groups(WritePolicy),
        "parameters": len(WritePolicy.declared()),
        "presets": PRESETS,
    }
    return render_page(request, "scoring/write_policy.html", context)


def summary(source: Source) -> dict[str, Any]:
    """A source in numbers."""
    figures = [figure for formula in source.formulas for figure in formula.figures]
    return {
        "source": source,
        "system": SYSTEMS[source.system],
        "reproduced": sum(not figure.ruling for figure in figures),
        "corrected": sum(bool(figure.ruling) for figure in figures),
        "parameters": len(SYSTEMS[source.system].params.declared()),
    }


@cache
def live_example(function: Callable[..., Any]) -> tuple[str, str] | None:
    """The example of a formula's docstring, run now: what is called, and what it gives."""
    examples = doctest.DocTestParser().get_examples(function.__doc__ or "")
    if not examples:
        return None
    scope = dict(vars(sys.modules[function.__module__]), np=np)
    *preparing, shown = [example.source.strip() for example in examples]
    for statement in preparing:
        exec(statement, scope)
    return "\n".join([*preparing, shown]), repr(eval(shown, scope))


def groups(params: type[Params]) -> dict[str, list[tuple[str, Declaration]]]:
    """Declarations by group, the groups in the order in which they first appear."""
    order = list(dict.fromkeys(declaration.group for declaration in params.declared().values()))
    ordered = sorted(params.declared().items(), key=lambda item: order.index(item[1].group))
    return {group: list(items) for group, items in groupby(ordered, key=lambda item: item[1].group)}
