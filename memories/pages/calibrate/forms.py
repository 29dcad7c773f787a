"""Forms of the Calibrate page: the merge cost, annotations from the form or a file, and the parts of a draft."""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from django.http import QueryDict
from rest_framework.exceptions import ValidationError

from memories.contracts.json_lines import LineReader
from memories.pages import sliders
from memories.tuning.annotation_records import NewAnnotation
from memories.web.annotation_bodies import MAX_ANNOTATIONS, NewAnnotationSerializer
from memories.web.serializers import line_body, valid_values
from memories.web.validation_errors import flatten_errors
from scoring.params import ParamProblem, ParamsError
from scoring.policy import PRESETS, WritePolicyParams

MERGE_COST = "merge_cost"
RIGHT_CHOICES = {"yes": True, "no": False}
# Titles of the parts of a calibration that can be saved.
PART_TITLES = {
    "preference": "the prior of Preference",
    "priors": "the priors of the types annotators agree on",
    "weights": "the confidence weights",
    "formal": "the weights for formal speech",
    "threshold": "the merge threshold",
}


def parse_merge_cost(data: QueryDict, serving: WritePolicyParams) -> tuple[dict[str, float], list[ParamProblem]]:
    """The merge cost of a query string or form if it differs from the serving one, and errors."""
    parsed, problems = sliders.parse_valid_params(WritePolicyParams, data, serving.as_dict())
    return {name: cost for name, cost in parsed.items() if name == MERGE_COST}, problems


def preset_rows(serving: WritePolicyParams) -> list[tuple[str, list[tuple[str, float, float]]]]:
    """Each domain's preset: its parameters with the serving and the preset's value."""
    served = serving.as_dict()
    return [
        (name, [(param, float(served[param]), value) for param, value in preset.items()])
        for name, preset in PRESETS.items()
    ]


def merge_cost_slider(policy: WritePolicyParams, serving: WritePolicyParams) -> sliders.Slider:
    """The slider of the merge cost."""
    declaration = WritePolicyParams.declarations()[MERGE_COST]
    return sliders.Slider(MERGE_COST, declaration, policy.merge_cost, serving.merge_cost)


def annotation_request_body(form: QueryDict, annotator: str) -> dict[str, Any]:
    """The annotation form as an API request body, without its empty fields."""
    filled = {name: str(form[name]) for name in ("memory", "type", "right", "confidence", "domain") if form.get(name)}
    body: dict[str, Any] = {**filled, "annotator": annotator}
    if "right" in filled:
        body["right"] = RIGHT_CHOICES.get(filled["right"], filled["right"])
    if "confidence" in filled:
        body["confidence"] = number_or_text(filled["confidence"])
    return body


def number_or_text(text: str) -> Any:
    """A number if the text is one, else the text, which the serializer rejects."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return text
    return parsed if isinstance(parsed, int | float) else text


def annotation_from_body(body: Any) -> NewAnnotation:
    """An annotation, validated as by the API; raises ValidationError."""
    return NewAnnotation(**valid_values(NewAnnotationSerializer(data=body)))


def read_annotation_file(reader: LineReader) -> Iterator[NewAnnotation]:
    """The annotations of a JSON Lines file; raises ValidationError with the line number."""
    for count, line in enumerate(reader.lines(), 1):
        if count > MAX_ANNOTATIONS:
            raise ValidationError(
                {f"line {line.number}": [f"is too many: a file has at most {MAX_ANNOTATIONS} annotations"]}
            )
        try:
            yield annotation_from_body(line_body(line))
        except ValidationError as error:
            first = next(iter(flatten_errors(error.detail)))
            raise ValidationError({f"line {line.number}": [f"{first['at']} {first['message']}"]}) from error


def draft_refusal(chosen: Sequence[str], proposals: Collection[str], problems: list[ParamProblem]) -> str:
    """Why the chosen parts cannot be saved; empty if they can."""
    if problems:
        return str(ParamsError(problems))
    if unknown := sorted(set(chosen) - set(proposals)):
        return f"{', '.join(unknown)} is not proposed now"
    if not chosen:
        return "choose what to save"
    if {"weights", "formal"} <= set(chosen):
        return "the fitted weights and those for formal speech exclude each other; choose one"
    return ""
