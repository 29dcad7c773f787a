"""Templates read like code, and scripts are modules that share nothing but what they import."""

import re
from pathlib import Path

import pytest
from django.core.files import File

from recall_site.static_files import ModuleManifestStorage

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCRIPTS = sorted((ROOT / "static").glob("*.js"))
MAX_LINE = 160  # characters
THIRD_PARTY = ("{% static 'vendor/", "{% static 'django_htmx/", "{{ swagger_ui_", "{{ script_url }}")
SCRIPT_TAG = re.compile(r"<script\b([^>]*)>")
IMPORT = re.compile(r'^import \{ (.+) \} from "\./([\w.-]+\.js)";$', re.MULTILINE)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_line_of_a_template_is_longer_than_160_characters(template: Path) -> None:
    lines = enumerate(template.read_text().splitlines(), start=1)
    assert [number for number, line in lines if len(line) > MAX_LINE] == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_script_of_a_template_is_a_module_or_third_party(template: Path) -> None:
    classic = [tag for tag in SCRIPT_TAG.findall(template.read_text()) if 'type="module"' not in tag]
    assert [tag for tag in classic if not any(f'src="{source}' in tag for source in THIRD_PARTY)] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_no_script_makes_a_global(script: Path) -> None:
    assert not re.search(r"\b(window|globalThis|self)[.[]|\"use strict\"", script.read_text())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_imports_only_what_another_exports(script: Path) -> None:
    code = script.read_text()
    assert len(IMPORT.findall(code)) == len(re.findall(r"^import\b|\bimport\(", code, re.MULTILINE))
    for names, source in IMPORT.findall(code):
        exports = re.findall(
            r"^export (?:async )?(?:function|const) (\w+)", (ROOT / "static" / source).read_text(), re.MULTILINE
        )
        assert set(names.split(", ")) <= set(exports)


def test_the_hashed_file_of_a_module_imports_hashed_files(tmp_path: Path) -> None:
    storage = ModuleManifestStorage(location=tmp_path, base_url="/static/")
    for script in SCRIPTS:
        with script.open("rb") as file:
            storage.save(script.name, File(file))
    list(storage.post_process({script.name: (storage, script.name) for script in SCRIPTS}))
    hashed = {script.name: storage.stored_name(script.name) for script in SCRIPTS}
    for script in SCRIPTS:
        imports = [source for _, source in IMPORT.findall(script.read_text())]
        served = [source for _, source in IMPORT.findall((tmp_path / hashed[script.name]).read_text())]
        assert served == [hashed[source] for source in imports]
    assert any(IMPORT.search(script.read_text()) for script in SCRIPTS)
