"""The embedded Postgres from outside: its processes and its rows."""

from pathlib import Path

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from recall_site.postgres import PORT, embedded_database_settings


def query_database(home: Path, statement: str, user: str = "") -> list[tuple[object, ...]]:
    """Ask the database of a folder as the site does, or as another user."""
    known = embedded_database_settings(home)
    where = make_conninfo(host=known["HOST"], port=PORT, user=user or known["USER"], dbname=known["NAME"])
    with psycopg.connect(where, autocommit=True) as database:
        cursor = database.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def postmaster(home: Path) -> int:
    """The process id of a folder's server."""
    return int((home / "postgres" / "postmaster.pid").read_text().split()[0])


def processes_of(home: Path) -> list[psutil.Process]:
    """Every living process that works in the folder or was told of it."""

    def concerns(process: psutil.Process) -> bool:
        try:
            return str(home) in " ".join(process.cmdline()) or process.cwd().startswith(str(home))
        except psutil.Error:
            return False

    return [process for process in psutil.process_iter() if concerns(process)]
