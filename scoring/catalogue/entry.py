"""Catalogue entries: each formula with the values its source prints, recomputed by the code in use."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from scoring.params import Declaration, Params

Verdict = Literal["reproduced", "erratum", "ours", "worked"]


@dataclass(frozen=True)
class PrintedValue:
    """A value as its source prints it and how it is computed here, with a ruling if the two differ."""

    printed: str
    label: str
    compute: Callable[[], float]
    ruling: str = ""
    ours: bool = False  # our own choice; the source's formula does not contradict the printed value
    derived: bool = False  # derived from the formula, not printed in the source

    @property
    def decimals(self) -> int:
        """Decimals of the printed value."""
        return len(self.printed.partition(".")[2])

    @property
    def computed(self) -> float:
        """The value the formula gives."""
        return float(self.compute())

    @property
    def agrees(self) -> bool:
        """Whether both values agree at the printed precision."""
        tolerance: float = 0.5 * 10.0**-self.decimals + 1e-12
        return abs(self.computed - float(self.printed)) <= tolerance

    @property
    def display_decimals(self) -> int:
        """One more decimal if there is a correction to show."""
        return self.decimals + 1 if self.ruling else self.decimals

    @property
    def verdict(self) -> Verdict:
        """Reproduced, derived, or corrected by its own formula or by us."""
        if self.ruling:
            return "ours" if self.ours else "erratum"
        return "worked" if self.derived else "reproduced"


@dataclass(frozen=True)
class SourceClaim:
    """A claim of a source checked against its own formulas, with the deciding values."""

    text: str
    values: tuple[tuple[str, Callable[[], float]], ...]
    ruling: str
    holds: bool = False

    @property
    def computed(self) -> list[tuple[str, float]]:
        """Labels and computed values."""
        return [(label, float(compute())) for label, compute in self.values]


@dataclass(frozen=True)
class ReportedResult:
    """Results of a source's own experiment: quoted, not reproduced."""

    section: str
    values: dict[str, str]  # label → printed value


@dataclass(frozen=True)
class Constants:
    """Parameters used by a formula, with the values its source prints for them."""

    params: type[Params]
    printed: dict[str, str]
    ranges: dict[str, tuple[str, str]]

    @property
    def declarations(self) -> dict[str, Declaration]:
        """Declarations in the source's order."""
        declarations = self.params.declarations()
        return {name: declarations[name] for name in self.printed}


def constants(params: type[Params], printed: dict[str, str], **ranges: tuple[str, str]) -> Constants:
    """Parameters with their printed defaults, and printed ranges if the source gives them."""
    return Constants(params, printed, ranges)


@dataclass(frozen=True)
class Formula:
    """One formula of a source: its function, constants and printed values."""

    name: str
    section: str
    function: Callable[..., Any]
    constants: tuple[Constants, ...] = ()
    printed_values: tuple[PrintedValue, ...] = ()
    claims: tuple[SourceClaim, ...] = ()
    symbols: str = ""  # legend of the symbols
    note: str = ""

    @property
    def slug(self) -> str:
        """The formula's name as a URL fragment."""
        return re.sub(r"\W+", "-", self.name.lower()).strip("-")

    @property
    def errata(self) -> int:
        """Number of corrected values."""
        return sum(value.verdict == "erratum" for value in self.printed_values)

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return inspect.cleandoc(self.function.__doc__ or "").partition("\n")[0]

    @property
    def tex(self) -> str:
        """The formula in LaTeX, from the function's docstring."""
        match = re.search(r"\$\$(.+?)\$\$", self.function.__doc__ or "", re.DOTALL)
        return " ".join(match[1].split()) if match else ""


@dataclass(frozen=True)
class CatalogueSource:
    """A source: its formulas in the order of the text, its reported results and presets."""

    number: str
    title: str
    system: str
    formulas: tuple[Formula, ...]
    reported: tuple[ReportedResult, ...] = ()
    presets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # as printed
