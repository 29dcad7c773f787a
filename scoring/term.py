"""Expression nodes over arrays, so that a score and its explanation are one computation.

A `Term` holds one value per candidate (or one value for all), its operation and its operands. The operations are a
closed set, `OPERATIONS`. Formulas accept terms and plain arrays alike: `exp2(-age / half_life)` returns a term for a
term and an array for an array.

An absent input (an infinite rank, no expiry) is skipped by sums, products and maxima, both in the value and in the
tree.
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


def min_max_scale(value: Array, low: Array, high: Array) -> Array:
    """Min–max scale a value, clamped to the minimum and maximum of its batch; a constant batch gives 0."""
    above, spread = np.asarray(np.minimum(np.maximum(value, low), high) - low), np.asarray(high - low)
    if spread.ndim == 0 and spread > 0:  # a single batch
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
    "scale": min_max_scale,
}
ASSOCIATIVE = ("+", "×")


@dataclass(eq=False, slots=True)
class Term:
    """A named value per candidate with its operands and a presence mask; treat as immutable."""

    name: str | NDArray[np.str_]
    value: Array
    op: str
    parts: tuple[Term, ...] = ()
    present: Mask | None = None

    # Makes numpy defer to the operators below; ufuncs outside the closed set raise.
    __array_ufunc__ = None

    def __add__(self, other: Operand) -> Term:
        return apply_operation("+", self, other)

    def __radd__(self, other: Operand) -> Term:
        return apply_operation("+", other, self)

    def __sub__(self, other: Operand) -> Term:
        return apply_operation("−", self, other)

    def __rsub__(self, other: Operand) -> Term:
        return apply_operation("−", other, self)

    def __mul__(self, other: Operand) -> Term:
        return apply_operation("×", self, other)

    def __rmul__(self, other: Operand) -> Term:
        return apply_operation("×", other, self)

    def __truediv__(self, other: Operand) -> Term:
        return apply_operation("÷", self, other)

    def __rtruediv__(self, other: Operand) -> Term:
        return apply_operation("÷", other, self)

    def __neg__(self) -> Term:
        return apply_operation("−", self)

    def with_name(self, name: str) -> Term:
        """A copy under the name used in the paper."""
        return Term(name, self.value, self.op, self.parts, self.present)

    def only(self, present: Mask) -> Term:
        """A copy that is absent where `present` is false."""
        mask = present if self.present is None else self.present & present
        return Term(self.name, self.value, self.op, self.parts, mask)

    def shallow(self) -> Term:
        """A copy with its operands, but without the operands' own subtrees."""
        parts = tuple(Term(part.name, part.value, part.op, (), part.present) for part in self.parts)
        return Term(self.name, self.value, self.op, parts, self.present)

    def take(self, rows: NDArray[np.intp]) -> Term:
        """Reindex the candidates: row i becomes row rows[i], absent where rows[i] is negative."""
        mask = rows >= 0
        return self._take(rows, mask, np.flatnonzero(mask))

    def _take(self, rows: NDArray[np.intp], mask: Mask, targets: NDArray[np.intp]) -> Term:
        if self.value.ndim == 0 and self.present is None:
            return self if len(targets) == len(rows) else self.only(mask)
        # Usually only a few rows are present; compute those only.
        value, present = np.zeros(len(rows)), np.zeros(len(rows), bool)
        value[targets] = self.value if self.value.ndim == 0 else self.value[rows[targets]]
        present[targets] = True if self.present is None else self.present[rows[targets]]
        return Term(
            self.name if isinstance(self.name, str) else self.name[rows],
            self.value if self.value.ndim == 0 else value,
            self.op,
            tuple(part._take(rows, mask, targets) for part in self.parts),
            present,
        )

    def find(self, name: str) -> Term | None:
        """The first term with this name in the tree; a parameter only if nothing else has the name."""
        return self.terms_by_name().get(name)

    def terms_by_name(self) -> dict[str, Term]:
        """The first term for every name in the tree; a parameter only if nothing else has the name."""
        terms: dict[str, Term] = {}
        for term in self.walk():
            if isinstance(term.name, str) and (term.name not in terms or terms[term.name].op == "param" != term.op):
                terms[term.name] = term
        return terms

    def walk(self) -> Iterator[Term]:
        """Walk the tree depth first, from the root; a shared term is yielded once."""
        seen: set[int] = set()
        stack = [self]
        while stack:
            term = stack.pop()
            if id(term) not in seen:
                seen.add(id(term))
                yield term
                stack.extend(reversed(term.parts))

    def trees(self, rows: Sequence[int] | NDArray[np.intp]) -> list[Tree]:
        """The explanation of each of these candidates as JSON-ready nodes `{name, value, op, parts}`."""
        return _build_trees(self, np.asarray(rows, dtype=np.intp), {})

    def tree(self, row: int = 0) -> Tree:
        """The explanation of one candidate."""
        return self.trees([row])[0]


def _build_trees(term: Term, rows: NDArray[np.intp], built: dict[int, list[Tree]]) -> list[Tree]:
    """Build the nodes of all rows column by column; a shared term is built once."""
    if id(term) in built:
        return built[id(term)]
    if term.value.ndim == 0 and isinstance(term.name, str):
        return built.setdefault(id(term), [_constant_tree(term, {})] * len(rows))
    names = [term.name] * len(rows) if isinstance(term.name, str) else term.name[rows].tolist()
    values = term.value[rows].tolist()
    columns = [_operand_trees(part, rows, built) for part in term.parts]
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
    return built.setdefault(id(term), nodes)


def _constant_tree(term: Term, built: dict[int, Tree]) -> Tree:
    """A node that is the same for all candidates, such as a normalised weight; a shared term is built once."""
    if (node := built.get(id(term))) is None:
        parts = [_constant_tree(part, built) for part in term.parts]
        node = built[id(term)] = {"name": term.name, "value": float(term.value), "op": term.op, "parts": parts}
    return node


def _operand_trees(part: Term, rows: NDArray[np.intp], built: dict[int, list[Tree]]) -> list[Tree] | list[Tree | None]:
    """The nodes of one operand, None where it is absent; absent nodes are not built."""
    if part.present is None:
        return _build_trees(part, rows, built)
    mask = part.present[rows]
    nodes = iter(_build_trees(part, rows[mask], {}))
    return [next(nodes) if present else None for present in mask.tolist()]


def const(value: float) -> Term:
    """A constant of the formula itself."""
    return Term(f"{value:g}", np.asarray(value, dtype=float), "const")


def param(name: str, value: float) -> Term:
    """A declared parameter."""
    return Term(name, np.asarray(value, dtype=float), "param")


def param_per_candidate(names: Sequence[str], values: Sequence[float], codes: NDArray[np.intp]) -> Term:
    """A declared parameter that varies by candidate, such as the half-life of its type."""
    return Term(np.asarray(names)[codes], np.asarray(values, dtype=float)[codes], "param")


def feature(name: str, value: Array) -> Term:
    """A feature of the candidates; infinity means absent."""
    finite = np.isfinite(value)
    if finite.all():
        return Term(name, value, "input")
    # An absent value is never read; 0 avoids NaN (0 × ∞) until it is skipped.
    return Term(name, np.where(finite, value, 0.0), "input", present=finite)


def apply_operation(op: str, *operands: Operand) -> Term:
    """Apply an operation; the result is present where all operands are."""
    parts = tuple([part if isinstance(part, Term) else _leaf(part) for part in operands])
    value = np.asarray(OPERATIONS[op](*[part.value for part in parts]))
    return Term(op, value, op, _flatten(op, parts) if op in ASSOCIATIVE else parts, _all_present(parts))


def _leaf(value: Array | float) -> Term:
    return feature("given", value) if isinstance(value, np.ndarray) else const(value)


def _flatten(op: str, parts: tuple[Term, ...]) -> tuple[Term, ...]:
    """Flatten (a + b) + c into one sum of three, unless the inner sum is named."""
    first = parts[0]
    if first.op == op and isinstance(first.name, str) and first.name == op:
        return (*first.parts, *parts[1:])
    return parts


def _all_present(parts: Iterable[Term]) -> Mask | None:
    masks = [part.present for part in parts if part.present is not None]
    return None if not masks else masks[0] if len(masks) == 1 else np.logical_and.reduce(masks)


def exp2(x: Quantity) -> Quantity:
    """2 to the power of x."""
    return apply_operation("exp2", x) if isinstance(x, Term) else np.exp2(x)


def exp(x: Quantity) -> Quantity:
    """e to the power of x."""
    return apply_operation("exp", x) if isinstance(x, Term) else np.exp(x)


def ln(x: Quantity) -> Quantity:
    """The natural logarithm."""
    return apply_operation("ln", x) if isinstance(x, Term) else np.log(x)


def minimum(x: Quantity, y: Quantity | float) -> Quantity:
    """Element-wise minimum."""
    return apply_operation("min", x, y) if isinstance(x, Term) else np.minimum(x, y)


def maximum(x: Quantity, y: Quantity | float) -> Quantity:
    """Element-wise maximum."""
    return apply_operation("max", x, y) if isinstance(x, Term) else np.maximum(x, y)


def name_quantity(x: Quantity, name: str) -> Quantity:
    """Name a quantity if it is a term; an array is returned as is."""
    return x.with_name(name) if isinstance(x, Term) else x


def total(parts: Iterable[Quantity]) -> Quantity:
    """The sum of the parts that are present."""
    operands: list[Any] = list(parts)
    if not any(isinstance(part, Term) for part in operands):
        plain_sum: Any = sum(operands[1:], start=operands[0])
        return cast("Quantity", plain_sum)
    term_sum: Any = _reduce_present("+", np.add, 0.0, operands)
    return cast("Quantity", term_sum)


def product(parts: Iterable[Term]) -> Term:
    """The product of the parts that are present."""
    return _reduce_present("×", np.multiply, 1.0, list(parts))


def largest(parts: Iterable[Term]) -> Term:
    """The largest of the parts that are present; 0 and absent where none is. Parts must not be negative."""
    operands = list(parts)
    masks = [part.present for part in operands if part.present is not None]
    any_present = np.logical_or.reduce(masks) if len(masks) == len(operands) else None
    result = _reduce_present("max", np.maximum, 0.0, operands)
    return result if any_present is None else result.only(any_present)


def _reduce_present(op: str, combine: np.ufunc, neutral: float, parts: list[Term]) -> Term:
    """Reduce parts of which some may be absent; the result is always present."""
    value = np.asarray(neutral)
    for part in parts:
        operand = part.value if part.present is None else np.where(part.present, part.value, neutral)
        value = np.asarray(combine(value, operand, out=value if value.ndim else None))
    return Term(op, value, op, tuple(parts))


def scale_in_batches(x: Term, batches: Batches, among: Mask) -> Term:
    """Min–max scaling over the candidates `among` a batch that have a value; 0 if none has one or all are equal.

    A candidate that is not among them is clamped to their range.
    """
    if not x.value.ndim and x.present is not None:
        x = Term(x.name, np.full(len(x.present), x.value), x.op, x.parts, x.present)
    counted = among if x.present is None else among & x.present
    reductions = (batches.minimum, batches.maximum)
    low, high = (batches.broadcast(reduce(x.value, None if counted.all() else counted)) for reduce in reductions)
    bounds = tuple(Term(name, bound, "input") for name, bound in (("batch min", low), ("batch max", high)))
    value = x.value if x.present is None else np.where(x.present, x.value, low)
    return Term("scale", min_max_scale(value, low, high), "scale", (x, *bounds), x.present)
