"""Parameters, each declared once: sliders, validation, docs, profiles and many tests derive from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self

from scoring.term import Term, param, total

ParamValue = bool | int | float | str
Scope = Literal["score", "candidates", "write"]
BY_QUERY = "query"  # the option of a choice that leaves it to the query
SCOPES: Mapping[Scope, str] = {
    "score": "replays exactly from a trace",
    "candidates": "needs a new query",
    "write": "applies when a memory is stored",
}


class ParamProblem(NamedTuple):
    """A validation error of one value."""

    at: str
    message: str
    among: tuple[str, ...] = ()  # parameters of a broken rule, any of which may be at fault


class ParamsError(ValueError):
    """One or more values violate their declarations."""

    def __init__(self, problems: list[ParamProblem]) -> None:
        super().__init__("; ".join(f"{problem.at} {problem.message}" for problem in problems))
        self.problems = problems


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """Metadata common to all declared parameters."""

    group: str
    affects: str
    source: str
    scope: Scope = "score"

    default: Any = None
    kind: ClassVar[str]

    def allowed_values(self) -> str:
        """Describe the allowed values."""
        raise NotImplementedError

    def accepts(self, value: object) -> bool:
        """Whether the value is allowed."""
        raise NotImplementedError

    def problem(self, name: str, value: object) -> ParamProblem | None:
        """The error for a value that is not allowed: what is allowed, and what was passed."""
        return None if self.accepts(value) else ParamProblem(name, f"must be {self.allowed_values()}; got {value!r}")


@dataclass(frozen=True, kw_only=True)
class Number(Declaration):
    """A bounded number, shown as a slider."""

    low: float
    high: float
    step: float
    log: bool = False
    unit: str = ""
    kind = "number"

    @property
    def is_integer(self) -> bool:
        """Whether only integers are accepted."""
        return isinstance(self.default, int)

    def allowed_values(self) -> str:
        noun = "a whole number" if self.is_integer else "a number"
        return f"{noun} from {self.low:g} to {self.high:g}{f' {self.unit}' if self.unit else ''}"

    def accepts(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        # NaN and infinity fail the bounds check.
        return self.low <= value <= self.high and not (self.is_integer and value != int(value))


@dataclass(frozen=True, kw_only=True)
class Choice(Declaration):
    """One of a fixed set of options."""

    options: tuple[str, ...]
    kind = "choice"

    def allowed_values(self) -> str:
        return "one of " + ", ".join(self.options)

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and value in self.options


@dataclass(frozen=True, kw_only=True)
class Switch(Declaration):
    """A boolean."""

    kind = "switch"

    def allowed_values(self) -> str:
        return "true or false"

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)


def number(default: float, affects: str, **attributes: Any) -> Any:
    """Declare a number; an int default accepts integers only."""
    return field(default=default, metadata={"declaration": Number(default=default, affects=affects, **attributes)})


def choice(default: str, affects: str, **attributes: Any) -> Any:
    """Declare a choice."""
    return field(default=default, metadata={"declaration": Choice(default=default, affects=affects, **attributes)})


def switch(default: bool, affects: str, **attributes: Any) -> Any:
    """Declare a boolean."""
    return field(default=default, metadata={"declaration": Switch(default=default, affects=affects, **attributes)})


@dataclass(frozen=True)
class Rule:
    """A constraint between several parameters of one set."""

    names: tuple[str, ...]
    message: str
    is_met: Callable[[Any], bool]


def not_all_zero(*names: str) -> Rule:
    """At least one of these weights must be positive."""
    message = f"must not all be zero: {', '.join(names)}"
    return Rule(names, message, lambda p: any(getattr(p, name) > 0 for name in names))


def at_most(lower: str, upper: str) -> Rule:
    """One threshold must not exceed another."""
    return Rule((lower, upper), f"must not exceed {upper}", lambda p: getattr(p, lower) <= getattr(p, upper))


@dataclass(frozen=True)
class Inert:
    """Parameters that cannot move a result while all of some others have one of these values, and why."""

    names: tuple[str, ...]
    reason: str
    when: Mapping[str, tuple[ParamValue, ...]]
    settled: bool = True  # also if a choice left to the query or the plan comes to such a value

    def holds(self, params: Params) -> bool:
        """Whether they are inert under a set of parameters."""
        return all(getattr(params, name) in values for name, values in self.when.items())


def inert_while(reason: str, *names: str, **when: ParamValue | tuple[ParamValue, ...]) -> Inert:
    """Declare that parameters are inert while all of some others have a value, or one of several."""
    values = {name: value if isinstance(value, tuple) else (value,) for name, value in when.items()}
    return Inert(names, reason, values)


def inert_while_alone(*weights: str, **when: ParamValue | tuple[ParamValue, ...]) -> tuple[Inert, ...]:
    """Declare that a normalised weight is inert while it is the only one above 0."""
    reason = "it is the only weight above 0, and weights are normalised"
    return tuple(
        inert_while(reason, name, **dict.fromkeys((other for other in weights if other != name), 0), **when)
        for name in weights
    )


@dataclass(frozen=True)
class Params:
    """A validated, immutable set of declared parameters."""

    rules: ClassVar[tuple[Rule, ...]] = ()
    inert: ClassVar[tuple[Inert, ...]] = ()

    def __post_init__(self) -> None:
        problems = [
            problem
            for name, declaration in self.declarations().items()
            if (problem := declaration.problem(name, getattr(self, name)))
        ]
        if not problems:
            problems = [self._rule_problem(rule) for rule in self.rules if not rule.is_met(self)]
        if problems:
            raise ParamsError(problems)
        for name, kind in self.number_types().items():
            if type(value := getattr(self, name)) is not kind:
                object.__setattr__(self, name, kind(value))

    def _rule_problem(self, rule: Rule) -> ParamProblem:
        got = ", ".join(f"{name} {getattr(self, name):g}" for name in rule.names)
        return ParamProblem(rule.names[0], f"{rule.message}; got {got}", rule.names)

    def __getitem__(self, name: str) -> Term:
        """The value as a leaf of the expression tree."""
        if (term := self._terms.get(name)) is None:
            term = self._terms[name] = param(name, getattr(self, name))
        return term

    @cached_property
    def _terms(self) -> dict[str, Term]:
        """Cache of values as terms; both are immutable, and one set scores many queries."""
        return {}

    @classmethod
    @cache
    def declarations(cls) -> Mapping[str, Declaration]:
        """All declarations by name, in definition order."""
        return MappingProxyType({field.name: field.metadata["declaration"] for field in fields(cls)})

    @classmethod
    @cache
    def declarations_by_group(cls) -> Mapping[str, Mapping[str, Declaration]]:
        """All declarations by group, in order of first appearance."""
        groups: dict[str, dict[str, Declaration]] = {}
        for name, declaration in cls.declarations().items():
            groups.setdefault(declaration.group, {})[name] = declaration
        return MappingProxyType(groups)

    @classmethod
    @cache
    def number_types(cls) -> Mapping[str, type[int] | type[float]]:
        """The numeric parameters and the Python type of each."""
        items = cls.declarations().items()
        return {name: int if item.is_integer else float for name, item in items if isinstance(item, Number)}

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Self:
        """Validate untrusted values; an undeclared name is an error."""
        if all(isinstance(value, int | float | str) for value in values.values()):
            cached: Self = cls._from_cached_values(tuple((name, type(value), value) for name, value in values.items()))
            return cached
        return cls._validate(values)

    @classmethod
    @lru_cache(maxsize=1024)
    def _from_cached_values(cls, values: tuple[tuple[str, type, object], ...]) -> Self:
        """Cached per process: the same few immutable sets are validated for every query."""
        return cls._validate({name: value for name, _, value in values})

    @classmethod
    def _validate(cls, values: Mapping[str, object]) -> Self:
        names = cls.declarations()
        unknown = [
            ParamProblem(name, f"is not a parameter here; allowed are {', '.join(names)}")
            for name in values
            if name not in names
        ]
        if unknown:
            raise ParamsError(unknown)
        return cls(**values)

    def inert_parameters(self, *, settled: bool = False) -> dict[str, str]:
        """The parameters that cannot move a result under these values, each with the reason.

        `settled` leaves out those that may still sway the query or the plan in a choice, as it has been made.
        """
        if (cached := self._inert_reasons.get(settled)) is None:
            holding = [one for one in self.inert if (one.settled or not settled) and one.holds(self)]
            cached = self._inert_reasons[settled] = {
                name: one.reason for one in reversed(holding) for name in one.names
            }
        return cached

    @classmethod
    def implications(cls, given: Mapping[str, object]) -> Mapping[str, object]:
        """The values that follow from which parameters a request or a profile names."""
        return {}

    @classmethod
    def as_requested(cls, given: Mapping[str, object]) -> Mapping[str, object]:
        """What a request gives on top of a preset or a profile, and what it means by it."""
        return given

    def with_values(self, **values: object) -> Self:
        """A copy with some values changed, validated again."""
        return replace(self, **values)

    def with_choices(self, **choices: str) -> Self:
        """A copy with some choices made; cached, as the few of a set are made for many queries."""
        key = tuple(choices.items())
        if (cached := self._with_choices.get(key)) is None:
            cached = self._with_choices[key] = self.with_values(**choices)
        return cached

    def as_dict(self) -> dict[str, float | str | bool]:
        """The values as JSON types."""
        return {name: getattr(self, name) for name in self.declarations()}

    def weights(self, *names: str) -> tuple[Term, ...]:
        """These weights, normalised to sum to 1."""
        if (cached := self._weights.get(names)) is None:
            denominator = total(self[name] for name in names).with_name("sum of weights")
            cached = self._weights[names] = tuple((self[name] / denominator).with_name("weight") for name in names)
        return cached

    @cached_property
    def _weights(self) -> dict[tuple[str, ...], tuple[Term, ...]]:
        return {}

    @cached_property
    def _inert_reasons(self) -> dict[bool, dict[str, str]]:
        return {}

    @cached_property
    def _with_choices(self) -> dict[tuple[tuple[str, str], ...], Self]:
        return {}
