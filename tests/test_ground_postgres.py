"""The embedded Postgres: whom it lets do what, and how it lives through crashes, long logs and odd folders."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recall_site.postgres import LOG_LIMIT, PORT, SUPERUSER, Postgres, embedded_database_settings, socket_folder

pytestmark = pytest.mark.xdist_group("start")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Postgres]:
    """A server of the test's own."""
    server = Postgres(tmp_path / "own", {"fsync": "off"})
    try:
        server.join()
        yield server
    finally:
        server.leave()


def ask(home: Path, statement: str, user: str = "") -> list[tuple[object, ...]]:
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


def test_the_site_s_role_owns_its_database_and_is_no_superuser(server: Postgres) -> None:
    rights = "SELECT rolname, rolsuper, rolcreaterole, rolreplication, rolbypassrls, rolcreatedb FROM pg_roles"
    assert ask(server.home, f"{rights} WHERE rolname = current_user") == [("recall", False, False, False, False, True)]
    owner = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"
    assert ask(server.home, owner) == [("recall",)]


def test_the_site_s_role_runs_no_program_and_reads_no_file_of_the_server(server: Postgres) -> None:
    ask(server.home, "CREATE TABLE loot (line text)")
    for attack in ("COPY loot FROM PROGRAM 'id'", "COPY loot FROM '/etc/passwd'", "SELECT pg_read_file('PG_VERSION')"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            ask(server.home, attack)


def test_a_database_of_the_superuser_s_is_handed_over_with_its_tables(server: Postgres) -> None:
    ask(server.home, "ALTER DATABASE recall OWNER TO postgres", SUPERUSER)
    ask(server.home, "CREATE TABLE old (id int GENERATED ALWAYS AS IDENTITY, what text)", SUPERUSER)
    again = Postgres(server.home)
    try:
        again.join()
        ask(server.home, "INSERT INTO old (what) VALUES ('kept')")
        ask(server.home, "ALTER TABLE old ADD COLUMN more text")
        assert ask(server.home, "SELECT id, what FROM old") == [(1, "kept")]
    finally:
        again.leave()


def test_a_killed_server_is_started_again(server: Postgres) -> None:
    ask(server.home, "CREATE TABLE kept (what text)")
    killed = postmaster(server.home)
    os.kill(killed, signal.SIGKILL)
    while psutil.pid_exists(killed) and psutil.Process(killed).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    server.check()
    assert postmaster(server.home) != killed
    assert ask(server.home, "SELECT * FROM kept") == []


def test_a_server_that_was_told_to_stop_is_left_alone(server: Postgres) -> None:
    assert server.programs.run("pg_ctl", "stop", "-s", "-w", "-m", "fast", "-D", str(server.data)).returncode == 0
    server.check()
    assert processes_of(server.home) == []


def test_a_long_log_is_set_aside_while_the_server_writes_it(server: Postgres) -> None:
    server.check()
    assert not (server.data / "postgres.log.1").exists()
    with server.log.open("a") as log:
        log.write("x" * LOG_LIMIT)
    server.check()
    assert (server.data / "postgres.log.1").stat().st_size > LOG_LIMIT
    with pytest.raises(psycopg.errors.SyntaxError):
        ask(server.home, "NONSENSE")
    assert 'syntax error at or near "NONSENSE"' in server.log.read_text()
    assert server.log.stat().st_size < 1000


@pytest.mark.parametrize("name", ["with blank and 'quote'", "deep" * 30, "comma,ed", "colon:ed"])
def test_postgres_lives_in_folders_of_any_name(tmp_path: Path, name: str) -> None:
    server = Postgres(tmp_path / name, {"fsync": "off"})
    try:
        server.join()
        ask(tmp_path / name, "CREATE EXTENSION vector")
        assert ask(tmp_path / name, "SELECT current_database(), '[1,2]'::vector::text") == [("recall", "[1,2]")]
    finally:
        server.leave()
    assert processes_of(tmp_path / name) == []
    shutil.rmtree(socket_folder(tmp_path / name), ignore_errors=True)


def test_a_user_who_leaves_does_not_stop_the_server_for_another(tmp_path: Path) -> None:
    first, second = Postgres(tmp_path / "shared", {"fsync": "off"}), Postgres(tmp_path / "shared")
    first.join()
    try:
        second.join()
        first.leave()
        assert ask(tmp_path / "shared", "SELECT 1") == [(1,)]
    finally:
        first.leave()
        second.leave()
    assert processes_of(tmp_path / "shared") == []


def test_an_interrupted_making_of_the_data_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "postgres.new").mkdir()
    (tmp_path / "postgres.new" / "PG_VERSION").write_text("18\n")
    server = Postgres(tmp_path, {"fsync": "off"})
    try:
        server.join()
        assert ask(tmp_path, "SELECT 1") == [(1,)]
    finally:
        server.leave()
