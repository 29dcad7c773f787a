"""How many hallucinations escape all guards: their product, moved by hand."""

from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from memories.pages import sliders
from memories.pages.chart_parts import text_annotation
from memories.templatetags.guards import tally
from memories.templatetags.numbers import grouped
from scoring.faithfulness import escape_rate
from scoring.policy import WritePolicyParams

GROUP = "Guards"  # as the policy declares it
MADE_UP = 1_000  # hallucinations that the chart begins with
PREFIX = "what escapes "  # of each declaration, before the guard's name


@dataclass(frozen=True)
class Step:
    """One guard: what it lets pass, and how many are left behind it."""

    name: str
    rate: float
    passed: float
    caught: float
    usual: float  # how many are left as the policy has it
    usual_rate: float


def guards() -> dict[str, str]:
    """The declared guards in their order, by parameter, as a person calls them."""
    declared = WritePolicyParams.declarations()
    return {name: one.affects.removeprefix(PREFIX) for name, one in declared.items() if one.group == GROUP}


def shown(sent: QueryDict, policy: WritePolicyParams) -> dict[str, Any]:
    """The cascade, its sliders, and what of the address cannot be used."""
    usual = policy.as_dict()
    said, problems = sliders.parse_valid_params(WritePolicyParams, sent, usual)
    turned = {name: value for name, value in said.items() if name in guards()}
    steps = cascade({**usual, **turned}, usual)
    every = sliders.param_groups(WritePolicyParams, {**usual, **turned}, usual)
    return {
        "steps": steps,
        "rate": escape_rate([one.rate for one in steps]),
        "usual_rate": escape_rate([one.usual_rate for one in steps]),
        "reach": steps[-1].passed,
        "made_up": MADE_UP,
        "figure": drawn(steps),
        "label": label(steps),
        "groups": [group for group in every if group.name == GROUP],
        "moved": turned,
        "slider_problems": problems,
    }


def cascade(rates: dict[str, Any], usual: dict[str, Any]) -> list[Step]:
    """Guard after guard, how many of the hallucinations are left."""
    names, steps = guards(), list[Step]()
    for place, (name, called) in enumerate(names.items()):
        so_far = list(names)[: place + 1]
        passed, before = (MADE_UP * escape_rate([some[one] for one in so_far]) for some in (rates, usual))
        caught = (steps[-1].passed if steps else MADE_UP) - passed
        steps.append(Step(called, float(rates[name]), passed, caught, before, float(usual[name])))
    return steps


def drawn(steps: list[Step]) -> dict[str, Any]:
    """A bar for what was made up and one for what is left behind each guard; a tick where it was before a move."""
    left = [float(MADE_UP), *(one.passed for one in steps)]
    named = ["made up", *(f"pass {one.name}" for one in steps)]
    last = len(steps)
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": [round(one, 4) for one in left],
        "y": list(range(last + 1)),
        "marker": {
            "color": ["$control", *["$ink-2"] * (last - 1), "$mark"],
            "line": {"color": "$ink", "width": [0] * last + [1.5]},
        },
        "hoverinfo": "skip",
    }
    ran = [(one.usual, place) for place, one in enumerate(steps, 1) if one.usual != one.passed]
    ticks = {
        "type": "scatter",
        "mode": "markers",
        "x": [round(usual, 4) for usual, _ in ran],
        "y": [place for _, place in ran],
        "marker": {"symbol": "line-ns-open", "size": 24, "color": "$mark-line", "line": {"width": 2}},
        "hovertext": [f"{tally(usual)} as the policy has it" for usual, _ in ran],
        "hoverinfo": "text",
    }
    # A name stands over its bar: a narrow chart has all its width for the bars, and a tick crosses no number.
    names = [
        {**text_annotation(0.0, place - 0.46, f"{tally(count)} {says}"), "yanchor": "middle"}
        for place, (count, says) in enumerate(zip(left, named, strict=True))
    ]
    return {
        "data": [bars, ticks] if ran else [bars],
        "layout": {
            "margin": {"l": 2, "r": 2, "t": 4, "b": 4},
            "bargap": 0.5,
            "xaxis": {"range": [0, MADE_UP], "showgrid": False, "showticklabels": False},
            "yaxis": {"range": [last + 0.4, -0.7], "showgrid": False, "showticklabels": False},
            "annotations": names,
        },
    }


def label(steps: list[Step]) -> str:
    """What the chart shows, in words."""
    told = ", ".join(f"{tally(one.passed)} pass {one.name}" for one in steps)
    return f"Of {grouped(MADE_UP)} hallucinations {told}."
