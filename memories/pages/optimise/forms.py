"""The search form: validated with the API's serializer, shown again as typed on error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Q
from django.http import QueryDict
from rest_framework.exceptions import ValidationError

from memories.models import JudgementSet, Namespace
from memories.models.choices import Split
from memories.pages.lab.forms import first_error_message, ranking_options
from memories.pages.sliders import ParamGroup, param_groups
from memories.retrieval.config import parse_config_label
from memories.retrieval.query import Config
from memories.tuning import optimiser
from memories.tuning.measurement import MAIN_METRIC, METRIC_NAMES
from memories.tuning.optimiser import SearchSpec
from memories.tuning.pareto import DIVERSITY, TRADEOFFS
from memories.web.evaluation_bodies import OptimiseSerializer, evaluation_config_from_body, search_spec_from_body
from memories.web.serializers import valid_values

FIELDS = {
    "set": "",
    "by": "",
    "metric": MAIN_METRIC,
    "price": "0",
    "against": DIVERSITY,
    "max_trials": str(optimiser.DEFAULT_TRIALS),
    "seconds": str(optimiser.DEFAULT_SECONDS),
}
NUMERIC_FIELDS = {"price": float, "max_trials": int, "seconds": int}
DEFAULT_GROUP = "Fusion"  # parameter group searched by default
MAX_SETS = 50


def form_data_from_spec(spec: SearchSpec) -> QueryDict:
    """The form data that would start this search."""
    data = QueryDict(mutable=True)
    objective = {"metric": spec.objective.metric, "price": f"{spec.objective.price:g}", "against": spec.against}
    data.update({"set": str(spec.set), "by": spec.config.label, **objective})
    data.update({"max_trials": str(spec.max_trials), "seconds": str(spec.seconds)})
    data.setlist("move", list(spec.move))
    return data


@dataclass(frozen=True)
class SearchForm:
    """Form data as typed, and its errors by field."""

    namespace: Namespace
    data: QueryDict
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def raw(self) -> dict[str, str]:
        """Every field as typed, or its default."""
        return {name: self.data.get(name, default).strip() for name, default in FIELDS.items()}

    def request_body(self) -> dict[str, Any]:
        """The form as an API request body."""
        body: dict[str, Any] = {"move": self.data.getlist("move"), **parse_config_label(self.raw["by"])}
        for name in ("set", "metric", "against"):
            body[name] = self.raw[name]
        for name, number in NUMERIC_FIELDS.items():
            try:
                body[name] = number(self.raw[name])
            except ValueError:
                body[name] = self.raw[name]
        return body

    def to_spec(self) -> SearchSpec:
        """The search to run; raises ValidationError."""
        if not self.data.getlist("move"):
            raise ValidationError({"move": ["must name at least one parameter; got none"]})
        return search_spec_from_body(self.namespace, valid_values(OptimiseSerializer(data=self.request_body())))

    def context(self) -> dict[str, Any]:
        """The form's values and options."""
        config, problems = self.start_config()
        picked = self.data.getlist("move") if "move" in self.data else default_moves(config)
        return {
            "typed": self.raw,
            "problems": {**problems, **self.problems},
            "sets": sets_with_split_counts(self.namespace),
            "ranking_options": ranking_options(self.namespace),
            "metrics": METRIC_NAMES.items(),
            "against": TRADEOFFS,
            "groups": searchable_groups(config),
            "picked": picked,
        }

    def start_config(self) -> tuple[Config, dict[str, str]]:
        """The start configuration; what is served if the form names an unknown one."""
        try:
            return evaluation_config_from_body(self.namespace, parse_config_label(self.raw["by"]), {}), {}
        except (ValidationError, KeyError):
            problem = f"must be a system or a profile of this namespace; got {self.raw['by']!r}"
            return evaluation_config_from_body(self.namespace, {}, {}), {"by": problem}


def search_form_errors(error: ValidationError) -> dict[str, str]:
    """The first error of each field, by the form's field names."""
    names = {"system": "by", "profile": "by", "params": "by"}
    detail: Any = error.detail
    return {names.get(str(name), str(name)): first_error_message(errors) for name, errors in dict(detail).items()}


def searchable_groups(config: Config) -> list[ParamGroup]:
    """The searchable parameters by group, with their current values."""
    tunable = set(optimiser.tunable_params(config))
    groups = param_groups(config.system.params, dict(config.given), dict(config.given))
    return [
        ParamGroup(group.name, searchable)
        for group in groups
        if (searchable := [slider for slider in group.sliders if slider.name in tunable])
    ]


def default_moves(config: Config) -> list[str]:
    """The parameters searched by default: the fusion weights, or all if there are none."""
    declared = config.system.params.declarations()
    tunable = optimiser.tunable_params(config)
    return [name for name in tunable if declared[name].group == DEFAULT_GROUP] or tunable


def sets_with_split_counts(namespace: Namespace) -> Sequence[JudgementSet]:
    """The judgement sets with the number of queries in each split."""
    counts = {split.value: Count("queries", filter=Q(queries__split=split)) for split in Split}
    return list(JudgementSet.objects.within(namespace).annotate(**counts).order_by("name")[:MAX_SETS])
