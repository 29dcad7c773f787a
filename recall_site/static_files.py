"""Static files: those that wheels bring, and collecting all of them only when one has changed."""

import hashlib
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder, get_finders
from django.core.files.storage import FileSystemStorage
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]

# What a page names as vendor/…: the package and the file inside it.
FROM_WHEELS = {"plotly.min.js": ("plotly", "package_data")}
PREFIX = "vendor"


class WheelFinder(BaseFinder):
    """Finds single files of packages that are no Django apps; a whole folder of them would be tens of megabytes."""

    def find(self, path: str, find_all: bool = False) -> Any:
        """The file's place on disk."""
        prefix, _, name = path.partition("/")
        found = [str(folder_of(name) / name)] if prefix == PREFIX and name in FROM_WHEELS else []
        return found if find_all else next(iter(found), [])

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        """Every file, with a storage that can open it."""
        for name in FROM_WHEELS:
            storage = FileSystemStorage(location=folder_of(name))
            storage.prefix = PREFIX  # type: ignore[attr-defined]  # where collectstatic puts it
            yield name, storage


class ModuleManifestStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Names files by their content, also where one of our modules imports another."""

    # Django's own patterns read every script, and stumble over imports without extension in those of wheels.
    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        ("*.js", ((r'(?P<matched>from "(?P<url>\./[\w-]+\.js)";)', 'from "%(url)s";'),)),
    )


def folder_of(name: str) -> Path:
    """The folder inside its package that holds a vendored file; the package is not imported."""
    package, inside = FROM_WHEELS[name]
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{package}, which brings {name}, is not installed")
    return Path(spec.submodule_search_locations[0]) / inside


def fingerprint() -> str:
    """Changes whenever a static file comes, goes or changes."""
    seen = hashlib.sha256(str(settings.STORAGES["staticfiles"]).encode())
    for finder in get_finders():
        for name, storage in finder.list([]):
            file = Path(storage.path(name)).stat()
            seen.update(f"{getattr(storage, 'prefix', '')}/{name} {file.st_size} {file.st_mtime_ns}\n".encode())
    return seen.hexdigest()


def outdated() -> bool:
    """Whether the collected files are not those that the packages hold."""
    stamp = stamp_file()
    return not stamp.is_file() or stamp.read_text() != fingerprint()


def collect() -> None:
    """Collect, name by content and compress all static files."""
    stamp_file().unlink(missing_ok=True)
    current = fingerprint()
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp_file().write_text(current)


def stamp_file() -> Path:
    """Beside the collected files, so that it is not served."""
    return Path(settings.STATIC_ROOT).with_suffix(".stamp")
