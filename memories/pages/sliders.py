"""Declared parameters as a person moves them: sliders, choices and switches, group by group."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.http import QueryDict

from scoring.params import Choice, Declaration, Number, Params, ParamsError, Problem, Switch

LOG_STEP = 0.01  # of a power of ten
PREFIX = "p."  # of a parameter in an address or a form


def called(declaration: Declaration) -> str:
    """A parameter as its slider calls it."""
    return declaration.affects[:1].upper() + declaration.affects[1:]


@dataclass(frozen=True)
class Slider:
    """One parameter, where it stands, and where it would stand by default."""

    name: str
    declaration: Declaration
    value: Any
    default: Any
    idle: bool = False  # the plan has no use for it

    @property
    def label(self) -> str:
        """What it does, in a few words."""
        return called(self.declaration)

    @property
    def kind(self) -> str:
        """How it is moved."""
        return self.declaration.kind

    @property
    def changed(self) -> bool:
        """Whether somebody moved it."""
        return bool(self.value != self.default)

    @property
    def fill(self) -> float:
        """How far along its track it stands, in percent."""
        return self.place(self.value)

    @property
    def tick(self) -> float:
        """Where its default lies, in percent."""
        return self.place(self.default)

    @property
    def typed(self) -> str:
        """The value as a person would type it."""
        return spelt(self.value)

    @property
    def track(self) -> dict[str, float]:
        """The track as the browser's own slider has it: the numbers themselves, or their powers of ten."""
        declared = self.declaration
        assert isinstance(declared, Number)
        if not declared.log:
            return {"low": declared.low, "high": declared.high, "step": declared.step, "value": self.value}
        low, high, value = (round(math.log10(one), 4) for one in (declared.low, declared.high, self.value))
        return {"low": low, "high": high, "step": LOG_STEP, "value": value}

    def place(self, value: float) -> float:
        """A value's place on the track, in percent."""
        declared = self.declaration
        assert isinstance(declared, Number)
        low, high = declared.low, declared.high
        if declared.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return 100 * (value - low) / (high - low)

    def __getattr__(self, name: str) -> Any:
        """What else its declaration says: low, high, step, unit, options."""
        return getattr(self.declaration, name)


@dataclass(frozen=True)
class Group:
    """Parameters that belong together."""

    name: str
    sliders: Sequence[Slider]

    @property
    def changed(self) -> int:
        """How many were moved."""
        return sum(one.changed for one in self.sliders)

    @property
    def asks_again(self) -> bool:
        """Whether moving one asks the database again."""
        return all(one.declaration.scope == "candidates" for one in self.sliders)

    @property
    def idle(self) -> bool:
        """Whether the plan has no use for any of them."""
        return all(one.idle for one in self.sliders)

    @property
    def open(self) -> bool:
        """Whether it is shown open at first: what replays at once, and what was moved."""
        return bool(self.changed) or not (self.asks_again or self.idle)


def groups(
    params: type[Params],
    values: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    idle: Collection[str] = (),
) -> list[Group]:
    """All parameters of a set with their values; the groups in the order in which they first appear."""
    whole, usual = params.of(values).as_dict(), params.of(defaults or {}).as_dict()
    sliders = [
        Slider(name, declaration, whole[name], usual[name], name in idle)
        for name, declaration in params.declared().items()
    ]
    order = list(dict.fromkeys(one.declaration.group for one in sliders))
    ordered = sorted(sliders, key=lambda one: order.index(one.declaration.group))
    return [Group(name, list(some)) for name, some in groupby(ordered, key=lambda one: one.declaration.group)]


def address(moved: Mapping[str, Any]) -> dict[str, str]:
    """What was moved, as an address says it; `given` reads it again."""
    return {f"{PREFIX}{name}": spelt(value) for name, value in moved.items()}


def spelt(value: Any) -> str:
    """A value as a person would type it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def given(params: type[Params], sent: QueryDict, defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a form or an address says of parameters, where it differs from the defaults (ParamsError)."""
    usual = params.of(defaults or {}).as_dict()
    read = dict(spoken(params, sent))
    params.of({**usual, **read})
    return {name: value for name, value in read.items() if value != usual[name]}


def moved(params: type[Params], sent: QueryDict, usual: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """What differs from the start, and what is wrong with the rest; a wrong value leaves the others standing."""
    problems: dict[str, str] = {}
    said, start = sent.copy(), params.of(usual).as_dict()
    while True:
        try:
            return given(params, said, start), problems
        except ParamsError as error:
            # The start breaks no rule, so one of the values that break one was said.
            for problem in error.problems:
                problems[problem.at] = problem.message
                keys = [f"{PREFIX}{name}" for name in problem.among or (problem.at,)]
                said.pop(next((key for key in keys if key in said), ""), None)


def spoken(params: type[Params], sent: QueryDict) -> Iterator[tuple[str, Any]]:
    """Each parameter that is named, as its own kind of value."""
    declared = params.declared()
    for key in sent:
        if not key.startswith(PREFIX):
            continue
        name, text = key.removeprefix(PREFIX), str(sent[key])  # the last one said counts
        yield name, value_of(declared[name], name, text) if name in declared else text


def value_of(declaration: Declaration, name: str, text: str) -> Any:
    """A value as its declaration means it."""
    if isinstance(declaration, Choice):
        return text
    if isinstance(declaration, Switch):
        if text not in ("true", "false"):
            raise ParamsError([Problem(name, f"must be {declaration.allowed()}; got {text!r}")])
        return text == "true"
    assert isinstance(declaration, Number)
    try:
        number = float(text)
    except ValueError as error:
        raise ParamsError([Problem(name, f"must be {declaration.allowed()}; got {text!r}")]) from error
    return int(number) if declaration.whole and number.is_integer() else number
