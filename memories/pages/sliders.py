"""Declared parameters as form controls: sliders, choices and switches, by group."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from scoring.params import Choice, Declaration, Number, ParamProblem, Params, ParamsError, Switch

LOG_STEP = 0.01  # in log10 units
PREFIX = "p."  # of a parameter in a query string or form


def param_label(declaration: Declaration) -> str:
    """A parameter's label in the interface; a Greek letter stays small, or it would look like a Latin one."""
    first = declaration.affects[:1]
    return (first.upper() if first.isascii() else first) + declaration.affects[1:]


@dataclass(frozen=True)
class Slider:
    """One parameter with its current and default value."""

    name: str
    declaration: Declaration
    value: Any
    default: Any
    idle: bool = False  # unused by the plan
    inert: str = ""  # why it cannot move anything

    @property
    def label(self) -> str:
        """Its label in the interface."""
        return param_label(self.declaration)

    @property
    def kind(self) -> str:
        """Kind of control."""
        return self.declaration.kind

    @property
    def changed(self) -> bool:
        """Whether it differs from its default."""
        return bool(self.value != self.default)

    @property
    def state_classes(self) -> str:
        """The CSS classes of its state."""
        states = {"changed": self.changed, "off": self.idle, "inert": bool(self.inert)}
        return " ".join(name for name, holds in states.items() if holds)

    @property
    def fill(self) -> float:
        """Position of the value on the track, in percent."""
        return self.position(self.value)

    @property
    def default_position(self) -> float:
        """Position of the default on the track, in percent."""
        return self.position(self.default)

    @property
    def input_value(self) -> str:
        """The value as text of the number input."""
        return format_param_value(self.value)

    @property
    def track(self) -> dict[str, float]:
        """Attributes of the range input; log10 values on a log scale."""
        declared = self.declaration
        assert isinstance(declared, Number)
        if not declared.log:
            return {"low": declared.low, "high": declared.high, "step": declared.step, "value": self.value}
        low, high, value = (round(math.log10(number), 4) for number in (declared.low, declared.high, self.value))
        return {"low": low, "high": high, "step": LOG_STEP, "value": value}

    def position(self, value: float) -> float:
        """A value's position on the track, in percent."""
        declared = self.declaration
        assert isinstance(declared, Number)
        low, high = declared.low, declared.high
        if declared.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return 100 * (value - low) / (high - low)

    def __getattr__(self, name: str) -> Any:
        """Attributes of the declaration: low, high, step, unit, options."""
        return getattr(self.declaration, name)


@dataclass(frozen=True)
class ParamGroup:
    """Sliders of one parameter group."""

    name: str
    sliders: Sequence[Slider]

    @property
    def changed(self) -> int:
        """How many differ from their defaults."""
        return sum(slider.changed for slider in self.sliders)

    @property
    def needs_new_query(self) -> bool:
        """Whether all its parameters select candidates, so that a change cannot be replayed."""
        return all(slider.declaration.scope == "candidates" for slider in self.sliders)

    @property
    def idle(self) -> bool:
        """Whether the plan uses none of them."""
        return all(slider.idle for slider in self.sliders)

    @property
    def open(self) -> bool:
        """Whether it is initially expanded: if it can replay, or something was changed."""
        return bool(self.changed) or not (self.needs_new_query or self.idle)


def param_groups(
    params: type[Params],
    values: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    idle: Collection[str] = (),
    inert: Mapping[str, str] | None = None,
) -> list[ParamGroup]:
    """All parameters by group, groups in order of declaration."""
    current, default = params.of(values).as_dict(), params.of(defaults or {}).as_dict()
    return [
        ParamGroup(
            group,
            [
                Slider(name, declaration, current[name], default[name], name in idle, (inert or {}).get(name, ""))
                for name, declaration in declarations.items()
            ],
        )
        for group, declarations in params.declarations_by_group().items()
    ]


def params_to_query(changed: Mapping[str, Any]) -> dict[str, str]:
    """Changed parameters as query parameters; inverse of `parse_changed_params`."""
    return {f"{PREFIX}{name}": format_param_value(value) for name, value in changed.items()}


def format_param_value(value: Any) -> str:
    """A parameter value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def parse_changed_params(
    params: type[Params], data: QueryDict, defaults: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The parameters of a form or query string that differ from the defaults; raises ParamsError."""
    default = params.of(defaults or {}).as_dict()
    given = dict(parse_named_params(params, data))
    params.of({**default, **given})
    return {name: value for name, value in given.items() if value != default[name]}


def parse_valid_params(
    params: type[Params], data: QueryDict, start_values: Mapping[str, Any]
) -> tuple[dict[str, Any], list[ParamProblem]]:
    """The valid parameters that differ from the start, and the problems of the invalid ones."""
    problems: dict[str, ParamProblem] = {}  # the last of each parameter
    remaining, start = data.copy(), params.of(start_values).as_dict()
    while True:
        try:
            return parse_changed_params(params, remaining, start), list(problems.values())
        except ParamsError as error:
            # The start is valid, so at least one offending value is in the data: drop it and try again.
            for problem in error.problems:
                problems[problem.at] = problem
                keys = [f"{PREFIX}{name}" for name in problem.among or (problem.at,)]
                remaining.pop(next((key for key in keys if key in remaining), ""), None)


def parse_named_params(params: type[Params], data: QueryDict) -> Iterator[tuple[str, Any]]:
    """Name and parsed value of each parameter in the data."""
    declared = params.declarations()
    for key in data:
        if not key.startswith(PREFIX):
            continue
        name, text = key.removeprefix(PREFIX), str(data[key])  # the last value wins
        yield name, parse_param_value(declared[name], name, text) if name in declared else text


def parse_param_value(declaration: Declaration, name: str, text: str) -> Any:
    """A value parsed by its declaration; raises ParamsError."""
    if isinstance(declaration, Choice):
        return text
    if isinstance(declaration, Switch):
        if text not in ("true", "false"):
            raise ParamsError([ParamProblem(name, f"must be {declaration.allowed_values()}; got {text!r}")])
        return text == "true"
    assert isinstance(declaration, Number)
    try:
        number = float(text)
    except ValueError as error:
        raise ParamsError([ParamProblem(name, f"must be {declaration.allowed_values()}; got {text!r}")]) from error
    return int(number) if declaration.is_integer and number.is_integer() else number
