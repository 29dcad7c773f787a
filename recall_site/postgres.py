"""The Postgres that comes with Recall: one server per data folder, on a unix socket, shared by all who use it.

The wheel's programs are driven directly: its Python side opens every parent folder to everyone when root runs it,
gives up after ten seconds, and counts users by process ids, which kill -9 leaves stale; file locks cannot go stale.
"""

import fcntl
import hashlib
import logging
import os
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from recall_site.data_folder import StartError, prepare
from recall_site.postgres_programs import MAJOR, Programs, extensions

logger = logging.getLogger(__name__)

SUPERUSER = "postgres"  # makes the role and the database, and does nothing else
ROLE = DATABASE = "recall"
PORT = "5432"  # part of the socket's name; nothing listens on TCP
SOCKET_NAME = f".s.PGSQL.{PORT}"
SOCKET_PATH_LIMIT = 103  # bytes; macOS has the shortest sun_path, 104 with its closing zero
PATIENCE = 300  # seconds; recovery after a crash replays the log first
ACCEPTING, REJECTING = 0, 1  # exit codes of pg_isready; REJECTING is starting up or shutting down
KEPT_AFTER = 2  # times that a statement was put
LARGEST_BUFFERS = 1024  # MB; holds the vectors of a million memories
LOG_LIMIT = 10_000_000  # bytes

# Databases made before there was a role, and what hands the tables in one over; indexes and sequences follow.
OF_SUPERUSER = "SELECT datname FROM pg_database WHERE pg_get_userbyid(datdba) = %s AND NOT datistemplate"
HAND_OVER = f"""
    DO $$ DECLARE name regclass; BEGIN
        FOR name IN SELECT oid FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace LOOP
            EXECUTE format('ALTER TABLE %s OWNER TO {ROLE}', name);
        END LOOP;
        EXECUTE format('ALTER DATABASE %I OWNER TO {ROLE}', current_database());
    END $$"""


def room() -> dict[str, str]:
    """Room for what is read often, which Postgres sets for machines of long ago; a disk that does not turn."""
    whole = psutil.virtual_memory().total // 2**20
    return {
        "shared_buffers": f"{min(whole // 4, LARGEST_BUFFERS)}MB",
        "effective_cache_size": f"{whole // 2}MB",
        "maintenance_work_mem": "256MB",
        "work_mem": "16MB",
        "random_page_cost": "1.1",
        "jit": "off",  # to compile a question takes longer than to answer it
    }


def socket_folder(home: Path) -> Path:
    """Where the server of `home` listens: in its data, or in a short place if that path cannot name a socket."""
    data = home.resolve() / "postgres"
    # libpq reads a comma as the start of a second host, and Postgres a colon as the start of a second folder.
    if len(os.fsencode(data / SOCKET_NAME)) <= SOCKET_PATH_LIMIT and not {",", ":"} & set(str(data)):
        return data
    return Path("/tmp") / f"recall-{hashlib.sha256(os.fsencode(data)).hexdigest()[:16]}"


def connection(home: Path) -> dict[str, Any]:
    """Django's description of the embedded database; true whether or not the server runs."""
    # No pooler stands between, so that the database can keep the plans of what is asked again and again.
    options = {"prepare_threshold": KEPT_AFTER}
    return {"NAME": DATABASE, "USER": ROLE, "HOST": str(socket_folder(home)), "PORT": PORT, "OPTIONS": options}


class Postgres:
    """A share in the server of one folder: the first to join starts it, the last to leave stops it."""

    def __init__(self, home: Path, options: Mapping[str, str] | None = None) -> None:
        self.home = home.resolve()
        self.data = self.home / "postgres"
        self.socket = socket_folder(home)
        self.log = self.data / "postgres.log"
        self.options = {"listen_addresses": "", "port": PORT, "unix_socket_directories": str(self.socket)}
        self.options |= {"unix_socket_permissions": "0700", "extension_control_path": f"{self.socket}:$system"}
        self.options |= {**room(), **(options or {})}
        self.programs = Programs(self.home, self.data)
        self._pid_file = self.data / "postmaster.pid"
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
                self.programs.run("pg_ctl", "stop", "-s", "-w", "-m", "fast", "-t", str(PATIENCE), "-D", str(self.data))

    def tend(self) -> None:
        """Start the server again if it crashed, and keep its log short."""
        if self._is_running() and not self._is_log_long():
            return
        with self._alone():
            self._shorten_log()
            if not self._is_running() and not self._was_stopped():
                logger.warning("Postgres is gone without a word; starting it again")
                self._ensure_running()

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
        self.programs.make_folder(fresh)
        # The built-in locale sorts alike on every machine, whatever is installed there.
        arguments = ["-U", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C"]
        arguments += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        arguments += ["--no-sync"] if self.options.get("fsync") == "off" else []
        made = self.programs.run("initdb", "-D", str(fresh), *arguments)
        if made.returncode:
            raise StartError(f"Postgres could not make its data folder {self.data}: {last_line(made.stderr)}")
        fresh.rename(self.data)

    def _ensure_running(self) -> None:
        """Start the server unless it runs; wait while it starts up, recovers or shuts down."""
        deadline, failures = time.monotonic() + PATIENCE, 0
        where = ["-h", str(self.socket), "-p", PORT, "-U", SUPERUSER, "-d", "postgres"]
        while (state := self.programs.run("pg_isready", "-q", *where).returncode) != ACCEPTING:
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
            self.programs.make_folder(self.socket)
        self._trust_pgvector()
        self._forget_stale_locks()
        self._shorten_log()
        options = shlex.join(f"--{name}={value}" for name, value in self.options.items())
        where = ["-D", str(self.data), "-l", str(self.log), "-o", options]
        return self.programs.run("pg_ctl", "start", "-s", "-w", "-t", str(PATIENCE), *where).returncode == 0

    def _trust_pgvector(self) -> None:
        """Let the owner of a database have pgvector in it, which the wheel's own control file leaves to a superuser."""
        original, scripts = extensions() / "vector.control", str(extensions()).replace("'", "''")
        control = self.socket / "extension" / original.name
        self.programs.make_folder(control.parent)
        control.write_text(f"{original.read_text()}\ntrusted = true\ndirectory = '{scripts}'\n")
        control.chmod(0o644)  # root may write it for another account

    def _forget_stale_locks(self) -> None:
        """Drop lock files of nobody, of a zombie or of another program: Postgres would take those for a server."""
        for file in (self._pid_file, self.socket / f"{SOCKET_NAME}.lock"):
            number = first_number(file)
            if not number or (psutil.pid_exists(number) and not self._is_server(number)):
                file.unlink(missing_ok=True)

    def _is_running(self) -> bool:
        return self._is_server(first_number(self._pid_file))

    def _is_server(self, number: int) -> bool:
        """Whether this is the living server of this folder."""
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            process = psutil.Process(number)
            return process.status() != psutil.STATUS_ZOMBIE and str(self.data) in process.cmdline()
        return False

    def _was_stopped(self) -> bool:
        """Whether the server was told to stop, which is left alone: after a crash its state still says otherwise."""
        told = self.programs.run("pg_controldata", "-D", str(self.data)).stdout
        return any(line.split(":")[-1].strip() == "shut down" for line in told.splitlines() if "cluster state" in line)

    def _is_log_long(self) -> bool:
        return self.log.exists() and self.log.stat().st_size > LOG_LIMIT

    def _shorten_log(self) -> None:
        """Set a long log aside in place of the one before; the server only ever appends, so it may be emptied."""
        if self._is_log_long():
            shutil.copyfile(self.log, self.log.with_suffix(".log.1"))
            os.truncate(self.log, 0)

    def _ensure_database(self) -> None:
        with self._as_superuser("postgres") as server:
            if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone():
                server.execute(f"CREATE ROLE {ROLE} LOGIN CREATEDB")
            if not server.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                server.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
            former = server.execute(f"{OF_SUPERUSER} AND datname <> 'postgres'", [SUPERUSER]).fetchall()
        for (name,) in former:
            with self._as_superuser(name) as database:
                database.execute(HAND_OVER)

    def _as_superuser(self, database: str) -> "psycopg.Connection[Any]":
        where = make_conninfo(host=str(self.socket), port=PORT, user=SUPERUSER, dbname=database)
        return psycopg.connect(where, autocommit=True)

    def _log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else "it wrote no log"


def private(path: Path) -> int:
    """A file to lock, for its owner alone: a stranger's lock would hold everything up."""
    return os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)


def first_number(file: Path) -> int:
    """The process id on the first line of a lock file of Postgres, or 0."""
    with suppress(FileNotFoundError):
        line = file.read_text().partition("\n")[0].strip()
        return int(line) if line.isdigit() else 0
    return 0


def last_line(output: str) -> str:
    """The line that tells the cause: the last error, else the last of all."""
    lines = [line for line in output.splitlines() if line.strip()]
    told = [line for line in lines if "FATAL" in line or "error:" in line]
    return (told or lines or ["no reason given"])[-1].strip()
