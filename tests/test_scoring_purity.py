"""`scoring` depends on numpy and the standard library only."""

import ast
import sys
from pathlib import Path

import pytest

import scoring

ROOT = Path(scoring.__file__).parent
DJANGO_MODULES = {"apps.py", "pages.py", "urls.py", "api.py", "mathml.py", "management", "templatetags"}
MODULES = sorted(path for path in ROOT.rglob("*.py") if not DJANGO_MODULES & set(path.relative_to(ROOT).parts))
CLOCKS = {"time", "datetime", "random", "secrets", "socket", "subprocess", "sqlite3", "urllib", "http"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_formula_module_imports_only_the_standard_library_numpy_and_its_neighbours(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    roots = {name.split(".")[0] for name in imported}
    assert roots <= set(sys.stdlib_module_names) | {"numpy", "scoring"}
    assert not roots & CLOCKS, "no clock, no randomness, no I/O"
    django = {f"scoring.{Path(name).stem}" for name in DJANGO_MODULES}
    assert not imported & django, "formulas do not import pages"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_formula_module_opens_no_file_and_prints_nothing(path: Path) -> None:
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input", "eval", "exec"}
