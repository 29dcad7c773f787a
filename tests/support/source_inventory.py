"""The inventory of the five sources: what each of their sentences defines, and the tests that prove it live."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

TESTS = Path(__file__).resolve().parents[1]
FOLDER = TESTS / "sources"
KEYS = {"says", "constant", "proof", "ruling", "reported"}


class Constant(NamedTuple):
    """A declared parameter, the default its source prints, and the ends of its range where the source prints them."""

    owner: str
    name: str
    default: float
    ends: tuple[float, ...]


@dataclass(frozen=True)
class SourceItem:
    """One formula, constant, row of a table, rule or output of a source."""

    id: str
    section: str
    says: str
    constant: Constant | None
    proofs: tuple[str, ...]
    ruling: str
    reported: bool

    @classmethod
    def of(cls, source: str, section: str, name: str, told: Mapping[str, Any]) -> "SourceItem":
        """Read one entry."""
        assert told.keys() <= KEYS, f"{source}.{name}: {sorted(told.keys() - KEYS)}"
        proof = told.get("proof", [])
        constant = None
        if "constant" in told:
            owner, parameter, default, *ends = told["constant"].split()
            constant = Constant(owner, parameter, float(default), tuple(map(float, ends)))
        return cls(
            id=f"{source}.{name}",
            section=section,
            says=told["says"],
            constant=constant,
            proofs=(proof,) if isinstance(proof, str) else tuple(proof),
            ruling=told.get("ruling", ""),
            reported=told.get("reported", False),
        )


@cache
def read_sections() -> Mapping[str, Mapping[str, tuple[SourceItem, ...]]]:
    """Source → section → its items, in the order of the text."""
    return {
        path.stem: {
            section: tuple(SourceItem.of(path.stem, section, name, told) for name, told in entries.items())
            for section, entries in yaml.safe_load(path.read_text()).items()
        }
        for path in sorted((FOLDER / "inventory").glob("*.yaml"))
    }


def source_items() -> Iterator[SourceItem]:
    """Every item of every source."""
    for sections in read_sections().values():
        for items in sections.values():
            yield from items


@cache
def module_tests(path: Path) -> frozenset[str]:
    """The tests that a module defines."""
    if not path.exists():
        return frozenset()
    functions = (node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef))
    return frozenset(name for name in functions if name.startswith("test_"))


def proof_path(proof: str) -> tuple[Path, str] | None:
    """The module and the test that a proof names; without a path, the one module of the sources that defines it."""
    path, _, name = proof.rpartition("::")
    if path:
        return (TESTS / path, name) if name in module_tests(TESTS / path) else None
    holding = [module for module in sorted(FOLDER.glob("test_*.py")) if name in module_tests(module)]
    return (holding[0], name) if len(holding) == 1 else None
