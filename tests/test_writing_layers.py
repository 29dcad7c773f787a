"""The write path imports only what lies below it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ABOVE = ("retrieval", "tuning", "jobs", "web", "api", "pages", "mcp", "management", "reflecting", "erasing", "bulk")


def imported_modules(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", sorted((ROOT / "memories/writing").rglob("*.py")), ids=lambda path: path.stem)
def test_writing_knows_nothing_of_what_lies_above_or_beside_it(path: Path) -> None:
    forbidden = ("rest_framework", "recall_site", *(f"memories.{package}" for package in ABOVE))
    assert [name for name in imported_modules(path) if name.startswith(forbidden)] == []


@pytest.mark.parametrize("path", sorted((ROOT / "memories/retrieval").rglob("*.py")), ids=lambda path: path.stem)
def test_retrieval_knows_nothing_of_writing(path: Path) -> None:
    assert [name for name in imported_modules(path) if name.startswith("memories.writing")] == []
