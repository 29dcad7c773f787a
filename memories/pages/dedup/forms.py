"""Forms of the Dedup page: both thresholds, from the query string or a form."""

from dataclasses import dataclass

from django.http import QueryDict

from memories.contracts.number_format import format_number
from memories.pages import sliders
from scoring.params import ParamProblem
from scoring.policy import WritePolicyParams

THRESHOLDS = ("dedup_duplicate", "dedup_escalate")


def parse_thresholds(data: QueryDict, serving: WritePolicyParams) -> tuple[dict[str, float], list[ParamProblem]]:
    """The thresholds that differ from the serving policy, and errors."""
    parsed, problems = sliders.parse_valid_params(WritePolicyParams, data, serving.as_dict())
    return {name: value for name, value in parsed.items() if name in THRESHOLDS}, problems


def thresholds_text(policy: WritePolicyParams) -> str:
    """Both thresholds in words."""
    duplicate, escalate = format_number(policy.dedup_duplicate), format_number(policy.dedup_escalate)
    return f"restatements merged above {duplicate}, judged from {escalate}"


@dataclass(frozen=True)
class ThresholdSlider(sliders.Slider):
    """A slider whose number input keeps what was typed, even if it is invalid."""

    typed: str = ""

    @property
    def input_value(self) -> str:
        return self.typed or super().input_value


def threshold_sliders(data: QueryDict, policy: WritePolicyParams, serving: WritePolicyParams) -> list[sliders.Slider]:
    """Both thresholds as sliders."""
    declared = WritePolicyParams.declarations()
    return [
        ThresholdSlider(
            name,
            declared[name],
            getattr(policy, name),
            getattr(serving, name),
            typed=data.get(f"{sliders.PREFIX}{name}", ""),
        )
        for name in THRESHOLDS
    ]
