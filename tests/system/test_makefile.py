"""The Makefile's error messages, with stand-ins for the programs it looks for."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

PROGRAMS = ("sh", "make", "grep", "sed", "touch", "id", "env")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A checkout with nothing but the Makefile, and a PATH with nothing but the plainest programs."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(settings.ROOT / name, tmp_path)
    (tmp_path / "bin").mkdir()
    for name in PROGRAMS:
        os.symlink(str(shutil.which(name)), tmp_path / "bin" / name)
    return tmp_path


def stand_in(place: Path, name: str, script: str) -> None:
    """Put a program on the PATH."""
    program = place / "bin" / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def make(place: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and what was said, without make's own last line."""
    environment = {"PATH": str(place / "bin"), "HOME": str(place)}
    ended = subprocess.run(["make", *arguments], cwd=place, env=environment, capture_output=True, text=True)
    said = [line for line in (ended.stdout + ended.stderr).splitlines() if not line.startswith("make: ***")]
    return ended.returncode, "\n".join(said)


def test_too_old_a_python_is_reported_in_one_sentence(place: Path) -> None:
    stand_in(place, "python3", 'if [ "$1" = --version ]; then echo Python 3.9.2; else exit 1; fi')
    code, said = make(place, "run")
    assert code != 0
    assert said == (
        "Recall needs Python 3.11 or newer and found Python 3.9.2; set one with make PYTHON=/path/to/python3.11"
    )


def test_no_python_at_all_is_reported_in_one_sentence(place: Path) -> None:
    assert "Recall needs Python 3.11 or newer and found none; " in make(place, "run")[1]


def test_a_python_without_venv_is_reported_in_one_sentence(place: Path) -> None:
    stand_in(place, "python3.12", 'case "$2" in *ensurepip*) exit 1;; esac')
    code, said = make(place, "run")
    assert code != 0
    assert said == "python3.12 has no venv module; install it (on Debian and Ubuntu: apt install python3-venv)"


def test_a_missing_browser_is_reported_in_one_sentence_where_it_cannot_be_installed(place: Path) -> None:
    code, said = make(place, "chromium")
    assert code != 0
    assert said.startswith("The browser tests need Chromium: install the package chromium")
    assert "\n" not in said


def test_run_reads_a_dotenv_file_but_the_environment_wins(place: Path) -> None:
    (place / ".venv" / "bin").mkdir(parents=True)
    (place / ".venv" / "run.stamp").touch()
    python = place / ".venv" / "bin" / "python"
    python.write_text('#!/bin/sh\necho "$PORT $RECALL_PASSWORD $@"\n')
    python.chmod(0o755)
    (place / ".env").write_text("PORT=1\nRECALL_PASSWORD='two words'\n")
    assert make(place, "-s", "run") == (0, "1 two words -m recall_site")
    assert make(place, "-s", "run", "PORT=2") == (0, "2 two words -m recall_site")
