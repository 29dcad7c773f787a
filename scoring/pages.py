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

from memories.templatetags.numbers import about
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
        "figures": sum(not one[-1].worked for one in figures),
        "errata": [one for one in figures if one[-1].verdict == "erratum"],
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
        "formulas": [(formula, typeset(formula.tex), live_examples(formula.function)) for formula in source.formulas],
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
        "reproduced": sum(figure.verdict == "reproduced" for figure in figures),
        "corrected": sum(figure.verdict == "erratum" for figure in figures),
        "parameters": len(SYSTEMS[source.system].params.declared()),
    }


@cache
def live_examples(function: Callable[..., Any]) -> list[tuple[str, str]]:
    """The examples of a formula's docstring, run now: what is called, and what it gives."""
    scope = dict(vars(sys.modules[function.__module__]), np=np)
    shown, prepared = [], ""
    for example in doctest.DocTestParser().get_examples(function.__doc__ or ""):
        if example.want:
            shown.append(((prepared + example.source).strip(), plain(eval(example.source, scope))))
        else:
            exec(example.source, scope)
            prepared += example.source
    return shown


def plain(result: Any) -> str:
    """A result as a reader would write it: numbers to four decimals, lists without their Python clothes."""
    if isinstance(result, np.ndarray | list | tuple) and not hasattr(result, "_fields"):
        return ", ".join(plain(one) for one in (result.tolist() if isinstance(result, np.ndarray) else result))
    if isinstance(result, int | float | np.number) and not isinstance(result, bool):
        return about(float(result)) if np.isfinite(result) else "∞"
    return str(result)


def groups(params: type[Params]) -> dict[str, list[tuple[str, Declaration]]]:
    """Declarations by group, the groups in the order in which they first appear."""
    order = list(dict.fromkeys(declaration.group for declaration in params.declared().values()))
    ordered = sorted(params.declared().items(), key=lambda item: order.index(item[1].group))
    return {group: list(items) for group, items in groupby(ordered, key=lambda item: item[1].group)}
