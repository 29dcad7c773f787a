"""The embedded Postgres: one server per data folder, on a unix socket, shared by all processes that use it.

The package's programs are run directly: its own Python API makes every parent folder world-accessible when run by root,
times out after ten seconds, and counts users by process ids, which kill -9 leaves stale. File locks cannot go stale.
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
from recall_site.postgres_programs import MAJOR, PostgresPrograms, extension_folder

logger = logging.getLogger(__name__)

SUPERUSER = "postgres"  # only creates the role and the database
ROLE = DATABASE = "recall"
PORT = "5432"  # part of the socket's name; nothing listens on TCP
SOCKET_NAME = f".s.PGSQL.{PORT}"
SOCKET_PATH_LIMIT = 103  # bytes; macOS has the shortest sun_path, 104 with its terminating NUL
START_TIMEOUT = 300  # seconds; crash recovery replays the WAL first
ACCEPTING, REJECTING = 0, 1  # exit codes of pg_isready; REJECTING is starting up or shutting down
PREPARE_THRESHOLD = 2  # executions before a statement is prepared
MAX_SHARED_BUFFERS = 1024  # MB; holds the vectors of a million memories
LOG_LIMIT = 10_000_000  # bytes

# Databases created before there was a role, and the change of ownership; indexes and sequences follow their table.
OWNED_BY_SUPERUSER = "SELECT datname FROM pg_database WHERE pg_get_userbyid(datdba) = %s AND NOT datistemplate"
CHANGE_OWNER = f"""
    DO $$ DECLARE name regclass; BEGIN
        FOR name IN SELECT oid FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace LOOP
            EXECUTE format('ALTER TABLE %s OWNER TO {ROLE}', name);
        END LOOP;
        EXECUTE format('ALTER DATABASE %I OWNER TO {ROLE}', current_database());
    END $$"""


def memory_options() -> dict[str, str]:
    """Memory and planner settings for this machine; the disk is assumed to be an SSD."""
    total = psutil.virtual_memory().total // 2**20
    return {
        "shared_buffers": f"{min(total // 4, MAX_SHARED_BUFFERS)}MB",
        "effective_cache_size": f"{total // 2}MB",
        "maintenance_work_mem": "256MB",
        "work_mem": "16MB",
        "random_page_cost": "1.1",
        "jit": "off",  # compiling takes longer than these queries run
    }


def socket_folder(home: Path) -> Path:
    """Where the server of `home` listens: its data folder, or a short path if that one cannot name a socket."""
    data = home.resolve() / "postgres"
    # libpq splits hosts at commas, and Postgres folders at colons.
    if len(os.fsencode(data / SOCKET_NAME)) <= SOCKET_PATH_LIMIT and not {",", ":"} & set(str(data)):
        return data
    return Path("/tmp") / f"recall-{hashlib.sha256(os.fsencode(data)).hexdigest()[:16]}"


def embedded_database_settings(home: Path) -> dict[str, Any]:
    """The embedded database as an entry of DATABASES, whether or not the server runs."""
    # There is no pooler in between, so statements can be prepared.
    options = {"prepare_threshold": PREPARE_THRESHOLD}
    return {"NAME": DATABASE, "USER": ROLE, "HOST": str(socket_folder(home)), "PORT": PORT, "OPTIONS": options}


class Postgres:
    """A process's use of a folder's server: the first process to join starts it, the last to leave stops it."""

    def __init__(self, home: Path, options: Mapping[str, str] | None = None) -> None:
        self.home = home.resolve()
        self.data = self.home / "postgres"
        self.socket = socket_folder(home)
        self.log = self.data / "postgres.log"
        self.options = {"listen_addresses": "", "port": PORT, "unix_socket_directories": str(self.socket)}
        self.options |= {"unix_socket_permissions": "0700", "extension_control_path": f"{self.socket}:$system"}
        self.options |= {**memory_options(), **(options or {})}
        self.programs = PostgresPrograms(self.home, self.data)
        self._pid_file = self.data / "postmaster.pid"
        self._share: IO[str] | None = None
        self._joined_by = 0

    def join(self) -> None:
        """Ensure that the server runs and has the database, and count as one of its users."""
        prepare(self.home)
        try:
            with self._exclusive():
                self._share, self._joined_by = os.fdopen(open_lock_file(self.home / "postgres.users")), os.getpid()
                fcntl.flock(self._share, fcntl.LOCK_SH)
                self._check_data()
                self._ensure_running()
                self._ensure_database()
        except OSError as error:
            raise StartError(f"Postgres cannot use {self.home}: {error}") from error

    def leave(self) -> None:
        """Stop being a user; the last one stops the server."""
        # A forked child inherits its parent's lock and must not release it.
        if self._share is None or self._joined_by != os.getpid():
            return
        with self._exclusive(), self._share as share:
            self._share = None
            with suppress(BlockingIOError):
                fcntl.flock(share, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.programs.run(
                    "pg_ctl", "stop", "-s", "-w", "-m", "fast", "-t", str(START_TIMEOUT), "-D", str(self.data)
                )

    def check(self) -> None:
        """Restart the server if it has crashed, and rotate its log."""
        if self._is_running() and not self._is_log_full():
            return
        with self._exclusive():
            self._rotate_log()
            if not self._is_running() and not self._was_stopped():
                logger.warning("Postgres has crashed; restarting it")
                self._ensure_running()

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Let one process at a time join, leave or check."""
        with os.fdopen(open_lock_file(self.home / "postgres.lock")) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _check_data(self) -> None:
        """Create the database cluster if there is none; refuse one of another Postgres version."""
        version = self.data / "PG_VERSION"
        if not version.exists():
            self._init_cluster()
        if (major := version.read_text().strip()) != MAJOR:
            raise StartError(
                f"{self.data} was written by Postgres {major} and Recall includes Postgres {MAJOR}; "
                "choose another folder with RECALL_DATA, or a server that can read it with DATABASE_URL."
            )

    def _init_cluster(self) -> None:
        """Run initdb in a temporary folder and rename it, so that no crash leaves half a cluster."""
        fresh = self.home / "postgres.new"
        shutil.rmtree(fresh, ignore_errors=True)
        self.programs.make_folder(fresh)
        # The built-in locale sorts the same on every machine.
        arguments = ["-U", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C"]
        arguments += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        arguments += ["--no-sync"] if self.options.get("fsync") == "off" else []
        result = self.programs.run("initdb", "-D", str(fresh), *arguments)
        if result.returncode:
            raise StartError(f"Postgres could not initialise {self.data}: {last_error_line(result.stderr)}")
        fresh.rename(self.data)

    def _ensure_running(self) -> None:
        """Start the server unless it runs; wait while it starts, recovers or shuts down."""
        deadline, failures = time.monotonic() + START_TIMEOUT, 0
        target = ["-h", str(self.socket), "-p", PORT, "-U", SUPERUSER, "-d", "postgres"]
        while (state := self.programs.run("pg_isready", "-q", *target).returncode) != ACCEPTING:
            if state == REJECTING and time.monotonic() < deadline:
                time.sleep(0.05)
            elif self._start():
                continue
            elif (failures := failures + 1) == 3:
                raise StartError(f"Postgres does not start: {last_error_line(self._log_text())} (see {self.log})")
            else:
                time.sleep(1)  # remains of a killed server may still be shutting down

    def _start(self) -> bool:
        if self.socket != self.data:
            self.programs.make_folder(self.socket)
        self._trust_pgvector()
        self._remove_stale_locks()
        self._rotate_log()
        options = shlex.join(f"--{name}={value}" for name, value in self.options.items())
        target = ["-D", str(self.data), "-l", str(self.log), "-o", options]
        return self.programs.run("pg_ctl", "start", "-s", "-w", "-t", str(START_TIMEOUT), *target).returncode == 0

    def _trust_pgvector(self) -> None:
        """Mark pgvector as trusted, so that the database's owner can install it; by default only a superuser can."""
        original, scripts = extension_folder() / "vector.control", str(extension_folder()).replace("'", "''")
        control = self.socket / "extension" / original.name
        self.programs.make_folder(control.parent)
        control.write_text(f"{original.read_text()}\ntrusted = true\ndirectory = '{scripts}'\n")
        control.chmod(0o644)  # root may write it for another account

    def _remove_stale_locks(self) -> None:
        """Remove lock files of a dead, zombie or unrelated process, which Postgres would take for a running server."""
        for file in (self._pid_file, self.socket / f"{SOCKET_NAME}.lock"):
            pid = read_pid(file)
            if not pid or (psutil.pid_exists(pid) and not self._is_server(pid)):
                file.unlink(missing_ok=True)

    def _is_running(self) -> bool:
        return self._is_server(read_pid(self._pid_file))

    def _is_server(self, pid: int) -> bool:
        """Whether a process is this folder's running server."""
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            process = psutil.Process(pid)
            return process.status() != psutil.STATUS_ZOMBIE and str(self.data) in process.cmdline()
        return False

    def _was_stopped(self) -> bool:
        """Whether the server was shut down on purpose; after a crash pg_controldata reports another state."""
        report = self.programs.run("pg_controldata", "-D", str(self.data)).stdout
        return any(
            line.split(":")[-1].strip() == "shut down" for line in report.splitlines() if "cluster state" in line
        )

    def _is_log_full(self) -> bool:
        return self.log.exists() and self.log.stat().st_size > LOG_LIMIT

    def _rotate_log(self) -> None:
        """Copy a full log to .log.1 and truncate it; the server only appends."""
        if self._is_log_full():
            shutil.copyfile(self.log, self.log.with_suffix(".log.1"))
            os.truncate(self.log, 0)

    def _ensure_database(self) -> None:
        with self._as_superuser("postgres") as server:
            if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone():
                server.execute(f"CREATE ROLE {ROLE} LOGIN CREATEDB")
            if not server.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                server.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
            former = server.execute(f"{OWNED_BY_SUPERUSER} AND datname <> 'postgres'", [SUPERUSER]).fetchall()
        for (name,) in former:
            with self._as_superuser(name) as database:
                database.execute(CHANGE_OWNER)

    def _as_superuser(self, database: str) -> "psycopg.Connection[Any]":
        conninfo = make_conninfo(host=str(self.socket), port=PORT, user=SUPERUSER, dbname=database)
        return psycopg.connect(conninfo, autocommit=True)

    def _log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else "it wrote no log"


def open_lock_file(path: Path) -> int:
    """Open a file to lock, private so that no other account can block us."""
    return os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)


def read_pid(file: Path) -> int:
    """The process id in a lock file of Postgres, or 0."""
    with suppress(FileNotFoundError):
        line = file.read_text().partition("\n")[0].strip()
        return int(line) if line.isdigit() else 0
    return 0


def last_error_line(output: str) -> str:
    """The last line with an error, else the last line."""
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "FATAL" in line or "error:" in line]
    return (errors or lines or ["no reason given"])[-1].strip()
