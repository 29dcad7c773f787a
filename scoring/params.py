"""Tunable values, each declared once: sliders, validation, documents, profiles and half of the tests come from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self

from scoring.term import Term, param, total

Scope = Literal["score", "candidates", "write"]
SCOPES: Mapping[Scope, str] = {
    "score": "replays from a trace exactly",
    "candidates": "asks the database again",
    "write": "counts when a memory is stored",
}


class Problem(NamedTuple):
    """What is wrong with one value."""

    at: str
    message: str
    among: tuple[str, ...] = ()  # the values of a broken rule, any of which may be the wrong one


class ParamsError(ValueError):
    """One or more values lie outside what their declarations allow."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{problem.at} {problem.message}" for problem in problems))
        self.problems = problems


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What every declared value says of itself."""

    group: str
    affects: str
    seed: str
    scope: Scope = "score"

    default: Any = None
    kind: ClassVar[str]

    def allowed(self) -> str:
        """The allowed values, in words."""
        raise NotImplementedError

    def accepts(self, value: object) -> bool:
        """Whether the value is allowed."""
        raise NotImplementedError

    def problem(self, name: str, value: object) -> Problem | None:
        """The one shape of a refusal: what is allowed, and what came."""
        return None if self.accepts(value) else Problem(name, f"must be {self.allowed()}; got {value!r}")


@dataclass(frozen=True, kw_only=True)
class Number(Declaration):
    """A number within bounds, moved by a slider in steps."""

    low: float
    high: float
    step: float
    log: bool = False
    unit: str = ""
    kind = "number"

    @property
    def whole(self) -> bool:
        """Whether only whole numbers make sense."""
        return isinstance(self.default, int)

    def allowed(self) -> str:
        what = "a whole number" if self.whole else "a number"
        return f"{what} from {self.low:g} to {self.high:g}{f' {self.unit}' if self.unit else ''}"

    def accepts(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        # NaN lies within no bounds, and infinity beyond all.
        return self.low <= value <= self.high and not (self.whole and value != int(value))


@dataclass(frozen=True, kw_only=True)
class Choice(Declaration):
    """One of a few named ways."""

    options: tuple[str, ...]
    kind = "choice"

    def allowed(self) -> str:
        return "one of " + ", ".join(self.options)

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and value in self.options


@dataclass(frozen=True, kw_only=True)
class Switch(Declaration):
    """On or off."""

    kind = "switch"

    def allowed(self) -> str:
        return "true or false"

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)


def number(default: float, affects: str, **said: Any) -> Any:
    """Declare a number; a default written as a whole number admits whole numbers only."""
    return field(default=default, metadata={"declaration": Number(default=default, affects=affects, **said)})


def choice(default: str, affects: str, **said: Any) -> Any:
    """Declare a choice."""
    return field(default=default, metadata={"declaration": Choice(default=default, affects=affects, **said)})


def switch(default: bool, affects: str, **said: Any) -> Any:
    """Declare a switch."""
    return field(default=default, metadata={"declaration": Switch(default=default, affects=affects, **said)})


@dataclass(frozen=True)
class Rule:
    """A law between several values of one set."""

    names: tuple[str, ...]
    message: str
    holds: Callable[[Any], bool]


def not_all_zero(*names: str) -> Rule:
    """At least one of these weights must count."""
    message = f"must not all be zero: {', '.join(names)}"
    return Rule(names, message, lambda p: any(getattr(p, name) > 0 for name in names))


def at_most(lower: str, upper: str) -> Rule:
    """One threshold must not pass another."""
    return Rule((lower, upper), f"must not exceed {upper}", lambda p: getattr(p, lower) <= getattr(p, upper))


@dataclass(frozen=True)
class Params:
    """A set of declared values; one that breaks a bound or a rule cannot exist."""

    rules: ClassVar[tuple[Rule, ...]] = ()

    def __post_init__(self) -> None:
        problems = [
            problem
            for name, declaration in self.declared().items()
            if (problem := declaration.problem(name, getattr(self, name)))
        ]
        if not problems:
            problems = [self._broken(rule) for rule in self.rules if not rule.holds(self)]
        if problems:
            raise ParamsError(problems)
        for name, kind in self.numbers().items():
            if type(value := getattr(self, name)) is not kind:
                object.__setattr__(self, name, kind(value))

    def _broken(self, rule: Rule) -> Problem:
        came = ", ".join(f"{name} {getattr(self, name):g}" for name in rule.names)
        return Problem(rule.names[0], f"{rule.message}; got {came}", rule.names)

    def __getitem__(self, name: str) -> Term:
        """The value as a leaf of an explanation."""
        if (term := self._terms.get(name)) is None:
            term = self._terms[name] = param(name, getattr(self, name))
        return term

    @cached_property
    def _terms(self) -> dict[str, Term]:
        """Its values as terms: the same set scores query after query, and neither it nor a term can be changed."""
        return {}

    @classmethod
    @cache
    def declared(cls) -> Mapping[str, Declaration]:
        """Every declaration of this set, by name, in the order of the source."""
        return MappingProxyType({one.name: one.metadata["declaration"] for one in fields(cls)})

    @classmethod
    @cache
    def numbers(cls) -> Mapping[str, type[int] | type[float]]:
        """The names of the numbers, and what each is kept as."""
        declared = cls.declared().items()
        return {name: int if one.whole else float for name, one in declared if isinstance(one, Number)}

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Self:
        """Read values that come from outside; a name nobody declared is refused."""
        if all(isinstance(value, int | float | str) for value in values.values()):
            known: Self = cls._known(tuple((name, type(value), value) for name, value in values.items()))
            return known
        return cls._read(values)

    @classmethod
    @lru_cache(maxsize=1024)
    def _known(cls, values: tuple[tuple[str, type, object], ...]) -> Self:
        """What was read before: the same few sets are read again for every query, and none can be changed."""
        return cls._read({name: value for name, _, value in values})

    @classmethod
    def _read(cls, values: Mapping[str, object]) -> Self:
        names = cls.declared()
        unknown = [
            Problem(name, f"is not a parameter here; allowed are {', '.join(names)}")
            for name in values
            if name not in names
        ]
        if unknown:
            raise ParamsError(unknown)
        return cls(**values)

    def but(self, **values: object) -> Self:
        """The same set with some values changed, checked again."""
        return replace(self, **values)

    def as_dict(self) -> dict[str, float | str | bool]:
        """Plain values, ready for JSON."""
        return {name: getattr(self, name) for name in self.declared()}

    def weights(self, *names: str) -> tuple[Term, ...]:
        """These weights divided by their sum, so that they add up to 1."""
        if (known := self._weights.get(names)) is None:
            whole = total(self[name] for name in names).named("sum of weights")
            known = self._weights[names] = tuple((self[name] / whole).named("weight") for name in names)
        return known

    @cached_property
    def _weights(self) -> dict[tuple[str, ...], tuple[Term, ...]]:
        return {}
