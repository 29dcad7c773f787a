"""Generated documentation is current, and what the documents name exists."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command, get_commands
from django.urls import Resolver404, resolve

ROOT = Path(settings.ROOT)
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
SOURCES = [path for folder in ("memories", "recall_site", "scoring") for path in (ROOT / folder).rglob("*.py")]
ID = "00000000-0000-7000-8000-000000000000"
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)


def test_the_parameter_page_is_current() -> None:
    call_command("document_parameters", check=True)


@each_document
def test_every_link_and_picture_leads_somewhere(document: Path) -> None:
    text = document.read_text()
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", text)
    for target in filter(lambda target: "://" not in target, (one or other for one, other in targets)):
        file, _, anchor = target.partition("#")
        path = document.parent / file if file else document
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path), target


def anchors(document: Path) -> list[str]:
    """The anchors GitHub gives a document's headings."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


@each_document
def test_every_file_named_in_code_font_exists(document: Path) -> None:
    if document.name == "CHANGELOG.md":
        return  # tells of files that are gone
    for named in re.findall(
        r"`((?:memories|scoring|recall_site|tests|benchmarks|docs|templates)/[\w/.*-]+)`", document.read_text()
    ):
        assert list(ROOT.glob(named)) or list(ROOT.glob(f"{named.rstrip('/')}")), named


@each_document
def test_every_command_of_manage_py_exists(document: Path) -> None:
    for name in re.findall(r"manage\.py ([a-z_]+)", document.read_text()):
        assert name in get_commands(), name


@each_document
def test_every_target_of_make_exists(document: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for name in re.findall(r"`make ([a-z][a-z-]*)", document.read_text()):
        assert re.search(rf"^{name}:", makefile, re.MULTILINE), name


def test_every_name_in_the_architecture_is_defined() -> None:
    source = "\n".join(path.read_text() for path in SOURCES)
    for name in re.findall(r"`([A-Za-z_]\w+)(?:\(\))?`", (ROOT / "ARCHITECTURE.md").read_text()):
        assert re.search(rf"\b{name}\b", source), name


def test_every_call_in_the_api_document_is_routed() -> None:
    text = (ROOT / "docs/api.md").read_text()
    calls = re.findall(r"`(?:(GET|POST|PATCH|DELETE) )?([a-z][a-z-]*(?:/(?:[a-z-]+|\{id\}))*/)`", text)
    assert len(calls) > 50
    for method, call in calls:
        try:
            view = resolve(f"/api/v1/workshop/{call.replace('{id}', ID)}").func.view_class
        except Resolver404:
            pytest.fail(call)
        assert not method or method in view.roles, (method, call)


@each_document
def test_every_variable_in_a_table_is_in_the_example_environment(document: Path) -> None:
    example = (ROOT / ".env.example").read_text()
    for row in re.findall(r"^\| (`[A-Z_`, ]+`) \|", document.read_text(), re.MULTILINE):
        for name in re.findall(r"[A-Z_]+", row):
            assert f"#{name}=" in example, name


def test_every_setting_is_documented() -> None:
    operations = (ROOT / "docs/operations.md").read_text()
    for name in re.findall(r"^#([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE):
        assert f"`{name}`" in operations, name
