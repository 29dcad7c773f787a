"""`scoring` installs alone: a wheel with numpy, without Django, runs the README's scoring examples."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from django.conf import settings

pytestmark = pytest.mark.slow

ROOT = Path(settings.ROOT)
RUN_EXAMPLES = """
import doctest, sys
examples = doctest.DocTestParser().get_doctest(sys.stdin.read(), {}, "README", "README.md", 0)
assert examples.examples
results = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(examples)
assert not [name for name in sys.modules if name.partition(".")[0] in ("django", "memories", "rest_framework")]
sys.exit(results.failed)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a virtual environment that holds nothing but the wheel of scoring and numpy."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "scoring", folder / "scoring", ignore=shutil.ignore_patterns("__pycache__"))
    pip("wheel", "--quiet", "--no-deps", "--wheel-dir", folder, folder / "scoring")
    (wheel,) = folder.glob("recall_scoring-*.whl")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    pip("--python", python, "install", "--quiet", wheel)
    return python


def pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    quick = os.environ | {"PIP_NO_COMPILE": "1"}  # also for the build's own setuptools
    done = subprocess.run(command, env=quick, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_wheel_runs_the_scoring_examples_of_the_readme_without_django(python: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    examples = "\n".join(block for block in blocks if "memories" not in block)
    assert "SYSTEMS" in examples
    done = subprocess.run(
        [python, "-c", RUN_EXAMPLES], input=examples, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_and_the_site_need_the_same_numpy() -> None:
    alone, site = (
        tomllib.loads((folder / "pyproject.toml").read_text())["project"] for folder in (ROOT / "scoring", ROOT)
    )
    assert alone["dependencies"] == [need for need in site["dependencies"] if need.startswith("numpy")]
    assert (alone["version"], alone["requires-python"]) == (site["version"], site["requires-python"])
