"""Writing lines to a new file."""

import os
from collections.abc import Iterable
from pathlib import Path

from django.core.management.base import CommandError


def write_new_file(file: Path, lines: Iterable[str], *, mode: int = 0o666) -> int:
    """Write lines to a file that must not exist yet and return their number; raises CommandError."""
    try:
        with open(file, "x", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, mode)) as out:
            return sum(1 for line in lines if out.write(f"{line}\n"))
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}.") from error
