"""Static files: a finder for files inside installed packages, and collectstatic only when a file has changed."""

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

# Files served as vendor/…, with the package and its folder that hold them.
PACKAGE_FILES = {"plotly.min.js": ("plotly", "package_data")}
PREFIX = "vendor"


class PackageFileFinder(BaseFinder):
    """Finds single files of packages that are not Django apps; their whole folders would be tens of megabytes."""

    def find(self, path: str, find_all: bool = False) -> Any:
        """The file's path on disk."""
        prefix, _, name = path.partition("/")
        paths = [str(package_folder(name) / name)] if prefix == PREFIX and name in PACKAGE_FILES else []
        return paths if find_all else next(iter(paths), [])

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        """Every file, with a storage that can open it."""
        for name in PACKAGE_FILES:
            storage = FileSystemStorage(location=package_folder(name))
            storage.prefix = PREFIX  # type: ignore[attr-defined]  # where collectstatic puts it
            yield name, storage


class ModuleManifestStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Names files by their content, also where one of our modules imports another."""

    # Django's own module patterns parse every script, and fail on imports without an extension in those of packages.
    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        ("*.js", ((r'(?P<matched>from "(?P<url>\./[\w-]+\.js)";)', 'from "%(url)s";'),)),
    )


def package_folder(name: str) -> Path:
    """The folder inside its package that holds a vendored file; the package is not imported."""
    package, inside = PACKAGE_FILES[name]
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{package}, which provides {name}, is not installed")
    return Path(spec.submodule_search_locations[0]) / inside


def static_fingerprint() -> str:
    """A hash of all static files' names, sizes and modification times."""
    digest = hashlib.sha256(str(settings.STORAGES["staticfiles"]).encode())
    for finder in get_finders():
        for name, storage in finder.list([]):
            file = Path(storage.path(name)).stat()
            digest.update(f"{getattr(storage, 'prefix', '')}/{name} {file.st_size} {file.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def is_stale() -> bool:
    """Whether a static file has changed since the last collect."""
    stamp = stamp_file()
    return not stamp.is_file() or stamp.read_text() != static_fingerprint()


def collect() -> None:
    """Collect, hash and compress all static files."""
    stamp_file().unlink(missing_ok=True)
    current = static_fingerprint()
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp_file().write_text(current)


def stamp_file() -> Path:
    """The last fingerprint, beside the collected files so that it is not served."""
    return Path(settings.STATIC_ROOT).with_suffix(".stamp")
