"""Arrays that remember how they were made, so that a score and its explanation are one computation.

A `Term` holds one value per candidate (or a single value for all), the operation that made it and the terms it was
made from. The operations are a closed set, `OPERATIONS`. Formulas are written once, over terms or plain arrays alike:
`exp2(-age / half_life)` gives a term when a term goes in and an array when an array does.

An absent input (a rank of infinity, an expiry that never comes) is left out of the sums, products and maxima that
gather parts, both in the value and in the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scoring.batches import Batches

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Codes: TypeAlias = NDArray[np.intp]
Tree: TypeAlias = dict[str, Any]
Operand: TypeAlias = "Term | Array | float"
Quantity = TypeVar("Quantity", Array, "Term")


def scaled(value: Array, low: Array, high: Array) -> Array:
    """Place a value between a batch's lowest and highest; a constant batch stands at 0."""
    above, spread = np.asarray(value - low), np.asarray(high - low)
    if spread.ndim == 0 and spread > 0:  # of one batch alone, the same for all
        return np.asarray(above / spread)
    return np.divide(above, spread, out=np.zeros(above.shape), where=spread > 0)


OPERATIONS: Mapping[str, Callable[..., Array]] = {
    "+": np.add,
    "−": lambda *parts: np.subtract(*parts) if len(parts) == 2 else np.negative(*parts),
    "×": np.multiply,
    "÷": np.divide,
    "min": np.minimum,
    "max": np.maximum,
    "exp2": np.exp2,
    "exp": np.exp,
    "ln": np.log,
    "scale": scaled,
}
FLATTENED = ("+", "×")


@dataclass(eq=False, slots=True)
class Term:
    """A named value per candidate, with the terms it was made from and where it is present; never changed once made."""

    name: str | NDArray[np.str_]
    value: Array
    op: str
    parts: tuple[Term, ...] = ()
    present: Mask | None = None

    # Arrays leave arithmetic with a term to the term; any numpy function outside the closed set fails.
    __array_ufunc__ = None

    def __add__(self, other: Operand) -> Term:
        return made("+", self, other)

    def __radd__(self, other: Operand) -> Term:
        return made("+", other, self)

    def __sub__(self, other: Operand) -> Term:
        return made("−", self, other)

    def __rsub__(self, other: Operand) -> Term:
        return made("−", other, self)

    def __mul__(self, other: Operand) -> Term:
        return made("×", self, other)

    def __rmul__(self, other: Operand) -> Term:
        return made("×", other, self)

    def __truediv__(self, other: Operand) -> Term:
        return made("÷", self, other)

    def __rtruediv__(self, other: Operand) -> Term:
        return made("÷", other, self)

    def __neg__(self) -> Term:
        return made("−", self)

    def named(self, name: str) -> Term:
        """The same term under the name it has in the paper."""
        return Term(name, self.value, self.op, self.parts, self.present)

    def only(self, present: Mask) -> Term:
        """The same term, absent where `present` is false."""
        there = present if self.present is None else self.present & present
        return Term(self.name, self.value, self.op, self.parts, there)

    def shallow(self) -> Term:
        """The same term and its parts, without what those were made from."""
        parts = tuple(Term(part.name, part.value, part.op, (), part.present) for part in self.parts)
        return Term(self.name, self.value, self.op, parts, self.present)

    def taken(self, rows: NDArray[np.intp]) -> Term:
        """The term with its candidates exchanged: row i becomes row rows[i], and is absent where that is negative."""
        there = rows >= 0
        return self._taken(rows, there, np.flatnonzero(there))

    def _taken(self, rows: NDArray[np.intp], there: Mask, at: NDArray[np.intp]) -> Term:
        if self.value.ndim == 0 and self.present is None:
            return self if len(at) == len(rows) else self.only(there)
        # Often few are there: what the others get costs nothing.
        value, present = np.zeros(len(rows)), np.zeros(len(rows), bool)
        value[at] = self.value if self.value.ndim == 0 else self.value[rows[at]]
        present[at] = True if self.present is None else self.present[rows[at]]
        return Term(
            self.name if isinstance(self.name, str) else self.name[rows],
            self.value if self.value.ndim == 0 else value,
            self.op,
            tuple(part._taken(rows, there, at) for part in self.parts),
            present,
        )

    def find(self, name: str) -> Term | None:
        """The first term of this name in the tree; a parameter only where nothing else bears its name."""
        return self.by_name().get(name)

    def by_name(self) -> dict[str, Term]:
        """Every name in the tree with its first term, and a parameter only where nothing else bears its name."""
        found: dict[str, Term] = {}
        for term in self.walk():
            if isinstance(term.name, str) and (term.name not in found or found[term.name].op == "param" != term.op):
                found[term.name] = term
        return found

    def walk(self) -> Iterator[Term]:
        """This term and all it was made from, from the top, each once however many were made from it."""
        seen: set[int] = set()
        waiting = [self]
        while waiting:
            term = waiting.pop()
            if id(term) not in seen:
                seen.add(id(term))
                yield term
                waiting.extend(reversed(term.parts))

    def trees(self, rows: Sequence[int] | NDArray[np.intp]) -> list[Tree]:
        """The explanation of each of these candidates, as plain JSON-ready nodes `{name, value, op, parts}`."""
        return _grown(self, np.asarray(rows, dtype=np.intp), {})

    def tree(self, row: int = 0) -> Tree:
        """The explanation of one candidate."""
        return self.trees([row])[0]


def _grown(term: Term, rows: NDArray[np.intp], done: dict[int, list[Tree]]) -> list[Tree]:
    """Build the nodes of all rows together, column by column; a shared term is built once."""
    if id(term) in done:
        return done[id(term)]
    if term.value.ndim == 0 and isinstance(term.name, str):
        return done.setdefault(id(term), [_same_for_all(term, {})] * len(rows))
    names = [term.name] * len(rows) if isinstance(term.name, str) else term.name[rows].tolist()
    values = term.value[rows].tolist()
    columns = [_column(part, rows, done) for part in term.parts]
    op = term.op
    nodes: list[Tree]
    if not columns:
        nodes = [{"name": n, "value": v, "op": op, "parts": []} for n, v in zip(names, values, strict=True)]
    elif any(part.present is not None for part in term.parts):
        nodes = [
            {"name": n, "value": v, "op": op, "parts": [part for part in parts if part]}
            for n, v, *parts in zip(names, values, *columns, strict=True)
        ]
    else:
        nodes = [
            {"name": n, "value": v, "op": op, "parts": parts}
            for n, v, *parts in zip(names, values, *columns, strict=True)
        ]
    return done.setdefault(id(term), nodes)


def _same_for_all(term: Term, done: dict[int, Tree]) -> Tree:
    """A node that does not depend on the candidate, such as a normalised weight; a shared term is built once."""
    if (known := done.get(id(term))) is None:
        parts = [_same_for_all(part, done) for part in term.parts]
        known = done[id(term)] = {"name": term.name, "value": float(term.value), "op": term.op, "parts": parts}
    return known


def _column(part: Term, rows: NDArray[np.intp], done: dict[int, list[Tree]]) -> list[Tree] | list[Tree | None]:
    """The nodes of one part, with a gap where it is absent; only what is present is built."""
    if part.present is None:
        return _grown(part, rows, done)
    there = part.present[rows]
    nodes = iter(_grown(part, rows[there], {}))
    return [next(nodes) if here else None for here in there.tolist()]


def const(value: float) -> Term:
    """A number of the formula itself."""
    return Term(f"{value:g}", np.asarray(value, dtype=float), "const")


def param(name: str, value: float) -> Term:
    """A declared parameter."""
    return Term(name, np.asarray(value, dtype=float), "param")


def param_of_each(names: Sequence[str], values: Sequence[float], codes: NDArray[np.intp]) -> Term:
    """A declared parameter that differs by candidate, such as the half-life of its type."""
    return Term(np.asarray(names)[codes], np.asarray(values, dtype=float)[codes], "param")


def given(name: str, value: Array) -> Term:
    """What is known of the candidates; infinity says that it is not there."""
    there = np.isfinite(value)
    if there.all():
        return Term(name, value, "input")
    # An absent value is never read; 0 keeps it out of trouble (0 × ∞) until it is left out.
    return Term(name, np.where(there, value, 0.0), "input", present=there)


def made(op: str, *operands: Operand) -> Term:
    """Apply an operation; the result is present where every operand is."""
    parts = tuple([part if isinstance(part, Term) else _leaf(part) for part in operands])
    value = np.asarray(OPERATIONS[op](*[part.value for part in parts]))
    return Term(op, value, op, _flat(op, parts) if op in FLATTENED else parts, _all_present(parts))


def _leaf(value: Array | float) -> Term:
    return given("given", value) if isinstance(value, np.ndarray) else const(value)


def _flat(op: str, parts: tuple[Term, ...]) -> tuple[Term, ...]:
    """Write (a + b) + c as one sum of three, unless the inner sum has a name of its own."""
    first = parts[0]
    if first.op == op and isinstance(first.name, str) and first.name == op:
        return (*first.parts, *parts[1:])
    return parts


def _all_present(parts: Iterable[Term]) -> Mask | None:
    masks = [part.present for part in parts if part.present is not None]
    return None if not masks else masks[0] if len(masks) == 1 else np.logical_and.reduce(masks)


def exp2(x: Quantity) -> Quantity:
    """2 to the power of x."""
    return made("exp2", x) if isinstance(x, Term) else np.exp2(x)


def exp(x: Quantity) -> Quantity:
    """e to the power of x."""
    return made("exp", x) if isinstance(x, Term) else np.exp(x)


def ln(x: Quantity) -> Quantity:
    """The natural logarithm."""
    return made("ln", x) if isinstance(x, Term) else np.log(x)


def least(x: Quantity, y: Quantity | float) -> Quantity:
    """The smaller of two."""
    return made("min", x, y) if isinstance(x, Term) else np.minimum(x, y)


def most(x: Quantity, y: Quantity | float) -> Quantity:
    """The larger of two."""
    return made("max", x, y) if isinstance(x, Term) else np.maximum(x, y)


def named(x: Quantity, name: str) -> Quantity:
    """The same quantity, under a name where it can bear one."""
    return x.named(name) if isinstance(x, Term) else x


def total(parts: Iterable[Quantity]) -> Quantity:
    """The sum of the parts that are present."""
    every: list[Any] = list(parts)
    if not any(isinstance(part, Term) for part in every):
        whole: Any = sum(every[1:], start=every[0])
        return cast("Quantity", whole)
    gathered: Any = _gathered("+", np.add, 0.0, every)
    return cast("Quantity", gathered)


def product(parts: Iterable[Term]) -> Term:
    """The product of the parts that are present."""
    return _gathered("×", np.multiply, 1.0, list(parts))


def best(parts: Iterable[Term]) -> Term:
    """The largest of the parts that are present; 0 and absent where none is. Parts are never negative."""
    every = list(parts)
    masks = [part.present for part in every if part.present is not None]
    anywhere = np.logical_or.reduce(masks) if len(masks) == len(every) else None
    whole = _gathered("max", np.maximum, 0.0, every)
    return whole if anywhere is None else whole.only(anywhere)


def _gathered(op: str, combine: np.ufunc, neutral: float, parts: list[Term]) -> Term:
    """Combine parts of which some may be absent; the result itself is always there."""
    value = np.asarray(neutral)
    for part in parts:
        known = part.value if part.present is None else np.where(part.present, part.value, neutral)
        value = np.asarray(combine(value, known, out=value if value.ndim else None))
    return Term(op, value, op, tuple(parts))


def scale(x: Term, batches: Batches) -> Term:
    """Min–max scaling over the candidates of a batch that have a value; where none has, and where all are equal, 0."""
    x = (
        x
        if x.value.ndim or x.present is None
        else Term(x.name, np.full(len(x.present), x.value), x.op, x.parts, x.present)
    )
    low, high = (batches.told(end(x.value, x.present)) for end in (batches.lowest, batches.highest))
    ends = tuple(Term(name, end, "input") for name, end in (("batch min", low), ("batch max", high)))
    known = x.value if x.present is None else np.where(x.present, x.value, low)
    return Term("scale", scaled(known, low, high), "scale", (x, *ends), x.present)
