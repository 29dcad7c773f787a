"""What the catalogue holds: each formula with the figures its source prints, computed by the code that serves them."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from scoring.params import Declaration, Params

Verdict = Literal["reproduced", "erratum", "ours", "worked"]


@dataclass(frozen=True)
class Figure:
    """A number as its source prints it, what it is, and how it is computed here; a ruling where the two differ."""

    printed: str
    what: str
    compute: Callable[[], float]
    ruling: str = ""
    ours: bool = False  # we decided otherwise; the source's own formula does not contradict it
    worked: bool = False  # follows from the formula, but the source does not print it

    @property
    def decimals(self) -> int:
        """The precision to which the source prints the number."""
        return len(self.printed.partition(".")[2])

    @property
    def computed(self) -> float:
        """The number as the formula gives it."""
        return float(self.compute())

    @property
    def agrees(self) -> bool:
        """Whether the computed number is the printed one to its printed precision."""
        tolerance: float = 0.5 * 10.0**-self.decimals + 1e-12
        return abs(self.computed - float(self.printed)) <= tolerance

    @property
    def shown_decimals(self) -> int:
        """One decimal more where a correction has to be seen."""
        return self.decimals + 1 if self.ruling else self.decimals

    @property
    def verdict(self) -> Verdict:
        """A figure with a ruling stands corrected, by its own formula or by us."""
        if self.ruling:
            return "ours" if self.ours else "erratum"
        return "worked" if self.worked else "reproduced"


@dataclass(frozen=True)
class Claim:
    """A sentence of a source held against its own formulas, with the figures that tell whether it holds."""

    says: str
    figures: tuple[tuple[str, Callable[[], float]], ...]
    ruling: str
    holds: bool = False

    @property
    def computed(self) -> list[tuple[str, float]]:
        """What the formulas give instead."""
        return [(what, float(compute())) for what, compute in self.figures]


@dataclass(frozen=True)
class Reported:
    """Figures that tell of somebody's experiment: quoted, not reproduced."""

    section: str
    figures: dict[str, str]  # what each printed number is


@dataclass(frozen=True)
class Constants:
    """Declared parameters a formula uses, with the values its source prints for them."""

    params: type[Params]
    printed: dict[str, str]
    ranges: dict[str, tuple[str, str]]

    @property
    def declared(self) -> dict[str, Declaration]:
        """The declarations, in the source's order."""
        every = self.params.declared()
        return {name: every[name] for name in self.printed}


def constants(params: type[Params], printed: dict[str, str], **ranges: tuple[str, str]) -> Constants:
    """Parameters with their printed defaults, and printed ranges where the source gives them."""
    return Constants(params, printed, ranges)


@dataclass(frozen=True)
class Formula:
    """One formula of a source: the function that computes it, its constants, and every figure printed for it."""

    name: str
    section: str
    function: Callable[..., Any]
    constants: tuple[Constants, ...] = ()
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = ()
    where: str = ""  # what the letters stand for
    note: str = ""

    @property
    def slug(self) -> str:
        """The formula's name in an address."""
        return re.sub(r"\W+", "-", self.name.lower()).strip("-")

    @property
    def errata(self) -> int:
        """How many of its figures stand corrected."""
        return sum(figure.verdict == "erratum" for figure in self.figures)

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return inspect.cleandoc(self.function.__doc__ or "").partition("\n")[0]

    @property
    def tex(self) -> str:
        """The formula itself, as the function's docstring has it."""
        found = re.search(r"\$\$(.+?)\$\$", self.function.__doc__ or "", re.DOTALL)
        return " ".join(found[1].split()) if found else ""


@dataclass(frozen=True)
class Source:
    """One published scoring system: its formulas in the order of its text, and what it reports."""

    seed: str
    title: str
    system: str
    formulas: tuple[Formula, ...]
    reported: tuple[Reported, ...] = ()
    presets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # as printed
