"""The shipped export of the demo world, with vectors; `manage.py build_demo` rebuilds it from the sources."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

from memories.demo.world_writer import BY
from memories.models import Namespace
from memories.transfer.export import export_namespace
from memories.transfer.import_file import FileImport

EXPORT = Path(__file__).parent / "world.ndjson.gz"
BATCH = 2_000  # lines


def read_export_namespace() -> dict[str, Any]:
    """The exported namespace's columns, from the header."""
    with gzip.open(EXPORT) as stream:
        columns: dict[str, Any] = json.loads(stream.readline())["namespace"]
    return columns


def restore_export(namespace: Namespace) -> None:
    """Restore the export into an empty namespace; the caller's transaction makes it all or nothing."""
    lines = io.BytesIO(gzip.decompress(EXPORT.read_bytes()))
    work = FileImport.begin(namespace, EXPORT.name, lines, restart=True, by=BY)
    for _ in work.run(BATCH, lambda outcomes: None):
        pass
    work.checkpoint.job.delete()  # its checkpoint: there is nothing to resume


def save_export(namespace: Namespace, path: Path) -> int:
    """Export a namespace to a file that depends on its rows alone; returns the number of lines."""
    with path.open("wb") as file, gzip.GzipFile("", "wb", compresslevel=9, fileobj=file, mtime=0) as stream:
        return sum(1 for line in export_namespace(namespace) if stream.write(f"{line}\n".encode()))
