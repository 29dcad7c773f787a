"""The data folder: embedded database, secret key, collected static files."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from recall_site import environment

ROOT = Path(__file__).resolve().parent.parent


class StartError(Exception):
    """Why the site cannot start, as one sentence for the terminal."""


def location() -> Path:
    """The folder's path, whether or not it exists yet."""
    return environment.read_folder("RECALL_DATA", ROOT / "var")


def prepare(folder: Path) -> None:
    """Create the folder and check that it is writable."""
    try:
        # Others may traverse but not list it: if root creates it, the database inside belongs to another account.
        folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StartError(
            f"{folder} is not writable ({reason}); choose another folder: RECALL_DATA=/path make run"
        ) from error


def read_secret(folder: Path, name: str) -> str:
    """The content of a private file; empty if there is none."""
    path = folder / name
    return path.read_text().strip() if path.is_file() else ""


def ensure_secret(folder: Path, name: str, make: Callable[[], str]) -> str:
    """The content of a private file, created on first use."""
    if not read_secret(folder, name):
        prepare(folder)
        handle, temporary = tempfile.mkstemp(dir=folder)  # readable by its owner only
        with os.fdopen(handle, "w") as file:
            file.write(make() + "\n")
        os.replace(temporary, folder / name)
    return read_secret(folder, name)
