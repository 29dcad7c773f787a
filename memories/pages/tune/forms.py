"""The Tune page's query string: judged set, split, metric, start configuration and changed parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from memories.models import JudgementSet, Namespace, TracedSet
from memories.models.choices import Split
from memories.pages import sliders
from memories.retrieval.config import override_params, parse_config_label, resolve_config
from memories.retrieval.query import Config
from memories.tuning.measurement import MAIN_METRIC, METRICS
from memories.tuning.traced_sets import latest_traced_set
from scoring.params import ParamProblem
from scoring.systems import SYSTEMS

SPLIT_LABELS = {Split.TUNE: "tune split", Split.HOLDOUT: "holdout split", "": "all"}


@dataclass(frozen=True)
class TuneState:
    """A start configuration with changed parameters, and the set to measure it on."""

    namespace: Namespace
    sets: list[JudgementSet]
    judgement_set: JudgementSet | None
    by: str
    split: str
    metric: str
    start: Config
    changed: Mapping[str, Any]
    problems: Sequence[ParamProblem]

    @property
    def config(self) -> Config:
        """The start with the changed parameters."""
        return override_params(self.start, self.changed)

    def traced_set(self, config: Config) -> TracedSet | None:
        """The latest traces of the set for a configuration."""
        return latest_traced_set(self.namespace, self.judgement_set, config) if self.judgement_set else None

    @property
    def query_string(self) -> str:
        """The query string of this state, without defaults."""
        first = self.sets[0].name if self.sets else ""
        values = {
            "set": self.judgement_set.name if self.judgement_set else first,
            "by": self.by,
            "split": self.split or "all",
            "metric": self.metric,
        }
        defaults = {"set": first, "by": "", "split": Split.TUNE, "metric": MAIN_METRIC}
        given = {name: value for name, value in values.items() if value != defaults[name]}
        return urlencode({**given, **sliders.params_to_query(self.changed)})


def parse_tune_state(namespace: Namespace, data: QueryDict) -> TuneState:
    """Parse the query string; an invalid value is reported and replaced by its default."""
    problems: list[ParamProblem] = []
    sets = list(JudgementSet.objects.within(namespace).order_by("created_at", "id"))
    requested, default = data.get("set", ""), sets[0] if sets else None
    chosen = next((row for row in sets if requested in (row.name, str(row.id))), default)
    if requested and chosen and requested not in (chosen.name, str(chosen.id)):
        names = ", ".join(row.name for row in sets)
        problems.append(ParamProblem("set", f"must be one of {names}; got {requested!r}"))
    start, by = resolve_start(namespace, data.get("by", ""), problems)
    split = {"all": "", **{value: value for value in Split.values}}.get(data.get("split", Split.TUNE))
    if split is None:
        got = data["split"]
        problems.append(ParamProblem("split", f"must be one of all, {', '.join(Split.values)}; got {got!r}"))
    metric = data.get("metric", MAIN_METRIC)
    if metric not in METRICS:
        problems.append(ParamProblem("metric", f"must be one of {', '.join(METRICS)}; got {metric!r}"))
        metric = MAIN_METRIC
    start_values = start.system.params.of(dict(start.given)).as_dict()
    changed: dict[str, Any] = {}
    if not start_changed(data):
        changed, param_problems = sliders.parse_valid_params(start.system.params, data, start_values)
        problems += param_problems
    split = Split.TUNE if split is None else split
    return TuneState(namespace, sets, chosen, by, split, metric, start, changed, problems)


def start_changed(data: QueryDict) -> bool:
    """Whether the form now names another start than the one its sliders belong to; their values are then ignored."""
    return data.get("started_by", data.get("by", "")) != data.get("by", "")


def resolve_start(namespace: Namespace, by: str, problems: list[ParamProblem]) -> tuple[Config, str]:
    """The start configuration: what is served, a system's defaults, or a profile version."""
    try:
        return resolve_config(namespace, **parse_config_label(by), params={}), by
    except LookupError:
        message = f"must be a system ({', '.join(SYSTEMS)}) or a profile with its version; got {by!r}"
        problems.append(ParamProblem("by", message))
        return resolve_config(namespace, params={}), ""
