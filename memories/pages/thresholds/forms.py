"""The Thresholds page's query string: moved thresholds by scope, and a draft of the write policy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from memories.models import Namespace, WritePolicyVersion
from memories.pages import sliders
from memories.pages.dedup.forms import ThresholdSlider
from memories.pages.thresholds.populations import Values
from memories.retrieval.config import resolve_config
from memories.retrieval.inert import inert_reasons
from memories.retrieval.query import Config
from memories.tuning.policy_drafts import find_policy_draft
from memories.writing.write_policy import current_write_policy
from scoring.catalogue.thresholds import THRESHOLD_TABLES, Threshold, ThresholdTable
from scoring.params import ParamProblem, Params, ParamsError
from scoring.policy import WritePolicyParams
from scoring.systems import SYSTEMS

POLICY = "policy"  # the scope of the write policy; the others are systems


def threshold_scope(table: ThresholdTable, threshold: Threshold) -> str:
    """What a threshold belongs to: the write policy, or the system of its table."""
    return POLICY if threshold.params is WritePolicyParams else table.system


def board_names() -> dict[str, list[str]]:
    """The parameters on the page by scope, in order."""
    names: dict[str, list[str]] = {POLICY: []}
    for table in THRESHOLD_TABLES:
        for threshold in table.thresholds:
            names.setdefault(threshold_scope(table, threshold), []).append(threshold.param)
    return names


BOARD_NAMES = board_names()


@dataclass(frozen=True)
class BoardSlider(ThresholdSlider):
    """A slider of one scope; several systems have parameters of one name."""

    scope: str = ""

    @property
    def field(self) -> str:
        """Its name in the query string."""
        return f"{self.scope}.{self.name}"

    @property
    def html_id(self) -> str:
        """The id of its input."""
        return f"{self.scope}-{self.name}"


@dataclass(frozen=True)
class ThresholdState:
    """The thresholds in force, and those moved."""

    namespace: Namespace
    serving: WritePolicyParams
    starts: Mapping[str, Config]  # by system
    changed: Mapping[str, Mapping[str, Any]]  # by scope, those that differ
    problems: Sequence[ParamProblem]
    data: QueryDict

    @cached_property
    def draft(self) -> WritePolicyVersion | None:
        """The draft that was just saved."""
        return find_policy_draft(self.namespace, self.data.get("draft", ""))

    @property
    def query(self) -> dict[str, str]:
        """What was moved, as query parameters."""
        return {
            f"{scope}.{name}": sliders.format_param_value(value)
            for scope, changed in self.changed.items()
            for name, value in changed.items()
        }

    @property
    def query_string(self) -> str:
        """The query string of this state."""
        return urlencode({**self.query, **({"draft": str(self.draft.id)} if self.draft else {})})

    def params_type(self, scope: str) -> type[Params]:
        """The declarations of a scope."""
        return WritePolicyParams if scope == POLICY else SYSTEMS[scope].params

    def start_values(self, scope: str) -> Values:
        """The values in force; of a system, those that differ from its defaults, as a plan may set the others."""
        return self.serving.as_dict() if scope == POLICY else self.starts[scope].given

    def values(self, scope: str) -> Values:
        """The values in force with everything moved."""
        return {**self.start_values(scope), **self.changed.get(scope, {})}

    def values_with(self, scope: str, name: str, value: Any) -> Values | None:
        """The values in force with one moved; None if a rule forbids it."""
        values = {**self.start_values(scope), name: value}
        try:
            self.params_type(scope).of(values)
        except ParamsError:
            return None
        return values

    @cached_property
    def inert_reasons(self) -> dict[str, dict[str, str]]:
        """By system, the parameters that cannot move anything under its values, and why."""
        return {
            system: inert_reasons(replace(start, given=self.values(system))) for system, start in self.starts.items()
        }

    def slider(self, table: ThresholdTable, threshold: Threshold) -> BoardSlider:
        """The slider of a threshold."""
        scope, name = threshold_scope(table, threshold), threshold.param
        start = getattr(self.params_type(scope).of(self.start_values(scope)), name)
        return BoardSlider(
            name,
            threshold.declaration,
            self.changed.get(scope, {}).get(name, start),
            start,
            inert=self.inert_reasons.get(scope, {}).get(name, ""),
            typed=self.data.get(f"{scope}.{name}", ""),
            scope=scope,
        )


def parse_threshold_state(namespace: Namespace, data: QueryDict) -> ThresholdState:
    """Parse the query string; an invalid value is reported, and the one in force stays."""
    serving, served = current_write_policy(namespace), resolve_config(namespace, params={})
    starts = {
        system: served if served.system.name == system else resolve_config(namespace, system=system, params={})
        for system in BOARD_NAMES
        if system != POLICY
    }
    state = ThresholdState(namespace, serving, starts, {}, (), data)
    changed: dict[str, Mapping[str, Any]] = {}
    problems: list[ParamProblem] = []
    for scope, names in BOARD_NAMES.items():
        values = scope_data(data, scope)
        problems += [
            ParamProblem(f"{scope}.{name}", f"is not on this page; it has {', '.join(names)}")
            for name in unknown_names(values, names)
        ]
        params = state.params_type(scope)
        complete = params.of(state.start_values(scope)).as_dict()
        parsed, found = sliders.parse_valid_params(params, values, complete)
        problems += [ParamProblem(f"{scope}.{problem.at}", problem.message) for problem in found]
        if parsed:
            changed[scope] = parsed
    return ThresholdState(namespace, serving, starts, changed, problems, data)


def scope_data(data: QueryDict, scope: str) -> QueryDict:
    """The fields of one scope, named as the fields of sliders are."""
    fields = QueryDict(mutable=True)
    for key in data:
        if key.startswith(f"{scope}."):
            fields[f"{sliders.PREFIX}{key.removeprefix(f'{scope}.')}"] = str(data[key])
    return fields


def unknown_names(fields: QueryDict, names: Sequence[str]) -> Iterator[str]:
    """The fields that name no threshold of the page; they are dropped."""
    for key in list(fields):
        if (name := key.removeprefix(sliders.PREFIX)) not in names:
            fields.pop(key)
            yield name
