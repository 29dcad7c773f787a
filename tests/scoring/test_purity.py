"""`scoring` depends on numpy and the standard library only."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import scoring

ROOT = Path(scoring.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "apps.py")
CLOCKS = {"time", "datetime", "random", "secrets", "socket", "subprocess", "sqlite3", "urllib", "http"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_formula_module_imports_only_the_standard_library_numpy_and_its_neighbours(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    roots = {name.split(".")[0] for name in imported}
    assert roots <= set(sys.stdlib_module_names) | {"numpy", "scoring"}
    assert not roots & CLOCKS, "no clock, no randomness, no I/O"
    assert "scoring.apps" not in imported


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_formula_module_opens_no_file_and_prints_nothing(path: Path) -> None:
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input", "eval", "exec"}


def test_importing_every_formula_module_loads_neither_django_nor_the_application() -> None:
    names = [".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in MODULES]
    script = (
        "import importlib, json, sys\n"
        f"for name in {[name.removesuffix('.__init__') for name in names]}: importlib.import_module(name)\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT.parent, capture_output=True, text=True, check=True)
    loaded = set(json.loads(run.stdout))
    assert {"scoring", "numpy"} <= loaded
    assert not loaded & {"django", "rest_framework", "memories", "recall_site"}
