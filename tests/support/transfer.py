"""Files of lines, and the commands that read and write them."""

import io
import json
from pathlib import Path
from typing import Any

from django.core.management import call_command

from memories.models import (
    Namespace,
)
from memories.transfer.export import export_namespace


def lines_of(namespace: Namespace, **options: Any) -> list[str]:
    """An export, without the line ends."""
    return list(export_namespace(namespace, **options))


def run_command(*arguments: str) -> str:
    """Run a command and give what it says."""
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def fast_namespace(slug: str = "here") -> Namespace:
    """Make an empty namespace with a fast embedder."""
    return Namespace.objects.create(slug=slug, title=slug, embedder="wordllama-256")


def write_lines(folder: Path, lines: list[Any], name: str = "lines.jsonl") -> str:
    """Write lines into a file; what is text already stays as it is."""
    path = folder / name
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), newline="\n")
    return str(path)
