"""The folder a Recall keeps its own things in: the embedded database, its secret key, the collected static files."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from recall_site import environment

ROOT = Path(__file__).resolve().parent.parent


class StartError(Exception):
    """One sentence for the person at the terminal."""


def location() -> Path:
    """Where the folder is, whether or not it exists yet."""
    return environment.folder("RECALL_DATA", ROOT / "var")


def prepare(folder: Path) -> None:
    """Make the folder, and make sure that it can be written to."""
    try:
        # Others may pass but not look: where root makes the folder, the database in it is another account's.
        folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StartError(
            f"{folder} cannot be written to ({reason}); name a folder that can: RECALL_DATA=/path make run"
        ) from error


def kept(folder: Path, name: str) -> str:
    """What a small private file holds, or nothing."""
    path = folder / name
    return path.read_text().strip() if path.is_file() else ""


def keep(folder: Path, name: str, make: Callable[[], str]) -> str:
    """What a small private file holds; made and kept the first time."""
    if not kept(folder, name):
        prepare(folder)
        handle, fresh = tempfile.mkstemp(dir=folder)  # readable by its owner alone
        with os.fdopen(handle, "w") as file:
            file.write(make() + "\n")
        os.replace(fresh, folder / name)
    return kept(folder, name)
