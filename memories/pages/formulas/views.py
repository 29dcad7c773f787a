"""Views of the Formulas pages: one overview, one page per source, and the write policy."""

import doctest
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from memories.contracts.number_format import format_rounded
from memories.pages.formulas.mathml import tex_to_mathml
from memories.web.layout import render_page
from scoring.catalogue import SOURCES
from scoring.catalogue.entry import CatalogueSource
from scoring.params import SCOPES
from scoring.policy import PRESETS, WritePolicyParams
from scoring.systems import SYSTEMS


@require_GET
def formulas_page(request: HttpRequest) -> HttpResponse:
    """Overview of all sources, with errata, checked claims and reported results."""
    formulas = [(source, formula) for source in SOURCES for formula in source.formulas]
    values = [(source, formula, value) for source, formula in formulas for value in formula.printed_values]
    context = {
        "sources": [source_summary(source) for source in SOURCES],
        "printed_values": sum(not row[-1].derived for row in values),
        "errata": [row for row in values if row[-1].verdict == "erratum"],
        "claims": [(source, formula, claim) for source, formula in formulas for claim in formula.claims],
        "reported": [(source, result) for source in SOURCES for result in source.reported],
    }
    return render_page(request, "memories/formulas/formulas.html", context)


@require_GET
def system_formulas_page(request: HttpRequest, system: str) -> HttpResponse:
    """One source: its formulas in the order of the text, then its system's parameters."""
    source = next((source for source in SOURCES if source.system == system), None)
    if source is None:
        raise Http404(f"There is no system {system}; there are {', '.join(SYSTEMS)}.")
    context = {
        **source_summary(source),
        "sources": SOURCES,
        "formulas": [
            (formula, tex_to_mathml(formula.tex), live_examples(formula.function)) for formula in source.formulas
        ],
        "groups": SYSTEMS[system].params.declarations_by_group(),
        "scopes": SCOPES,
    }
    return render_page(request, "memories/formulas/system.html", context)


@require_GET
def write_policy_page(request: HttpRequest) -> HttpResponse:
    """All parameters of the write policy."""
    context = {
        "sources": SOURCES,
        "groups": WritePolicyParams.declarations_by_group(),
        "parameters": len(WritePolicyParams.declarations()),
        "presets": PRESETS,
    }
    return render_page(request, "memories/formulas/write_policy.html", context)


def source_summary(source: CatalogueSource) -> dict[str, Any]:
    """A source with its counts."""
    values = [value for formula in source.formulas for value in formula.printed_values]
    return {
        "source": source,
        "system": SYSTEMS[source.system],
        "reproduced": sum(value.verdict == "reproduced" for value in values),
        "corrected": sum(value.verdict == "erratum" for value in values),
        "parameters": len(SYSTEMS[source.system].params.declarations()),
    }


@cache
def live_examples(function: Callable[..., Any]) -> list[tuple[str, str]]:
    """Run the doctest examples of a formula: source and formatted result of each."""
    scope = dict(vars(sys.modules[function.__module__]), np=np)
    examples, setup = [], ""
    for example in doctest.DocTestParser().get_examples(function.__doc__ or ""):
        if example.want:
            examples.append(((setup + example.source).strip(), format_example_result(eval(example.source, scope))))
        else:
            exec(example.source, scope)
            setup += example.source
    return examples


def format_example_result(result: Any) -> str:
    """Format a result without Python syntax, numbers to four decimals."""
    if isinstance(result, np.ndarray | list | tuple) and not hasattr(result, "_fields"):
        values = result.tolist() if isinstance(result, np.ndarray) else result
        return ", ".join(format_example_result(value) for value in values)
    if isinstance(result, int | float | np.number) and not isinstance(result, bool):
        return format_rounded(float(result)) if np.isfinite(result) else "∞"
    return str(result)
