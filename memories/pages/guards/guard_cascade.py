"""The guards in a row: how many hallucinations pass each, as the product of their escape rates."""

from dataclasses import dataclass
from typing import Any

from memories.contracts.number_format import format_count, format_per_thousand
from scoring.faithfulness import escape_rate
from scoring.policy import WritePolicyParams

PARAM_GROUP = "Guards"  # of the write policy's declarations
HALLUCINATIONS = 1_000  # at the start of the cascade
AFFECTS_PREFIX = "what escapes "  # in each declaration's `affects`, before the guard's name


@dataclass(frozen=True)
class GuardStep:
    """One guard: its escape rate, and the hallucinations left after it."""

    name: str
    rate: float
    passed: float
    caught: float
    policy_passed: float  # under the rates of the policy
    policy_rate: float


def guard_names() -> dict[str, str]:
    """Names of the guards by parameter, in order of declaration."""
    declared = WritePolicyParams.declarations()
    return {
        name: declaration.affects.removeprefix(AFFECTS_PREFIX)
        for name, declaration in declared.items()
        if declaration.group == PARAM_GROUP
    }


def guard_cascade(rates: dict[str, Any], policy_rates: dict[str, Any]) -> list[GuardStep]:
    """The hallucinations left after each guard."""
    names, steps = guard_names(), list[GuardStep]()
    for index, (param, name) in enumerate(names.items()):
        params = list(names)[: index + 1]
        passed, policy_passed = (
            HALLUCINATIONS * escape_rate([values[earlier] for earlier in params]) for values in (rates, policy_rates)
        )
        caught = (steps[-1].passed if steps else HALLUCINATIONS) - passed
        steps.append(GuardStep(name, float(rates[param]), passed, caught, policy_passed, float(policy_rates[param])))
    return steps


def escape_headline(steps: list[GuardStep]) -> str:
    """How many hallucinations pass all guards."""
    passed = format_per_thousand(steps[-1].passed)
    verb = "escapes" if passed == "1" else "escape"
    return f"Of {format_count(HALLUCINATIONS)} hallucinations {passed} {verb} all three"
