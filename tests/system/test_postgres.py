"""The embedded Postgres: roles, crashes, log rotation and odd folders."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from recall_site.postgres import LOG_LIMIT, SUPERUSER, Postgres, socket_folder
from tests.support.postgres import postmaster, processes_of, query_database

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


def test_the_site_s_role_owns_its_database_and_is_no_superuser(server: Postgres) -> None:
    rights = "SELECT rolname, rolsuper, rolcreaterole, rolreplication, rolbypassrls, rolcreatedb FROM pg_roles"
    assert query_database(server.home, f"{rights} WHERE rolname = current_user") == [
        ("recall", False, False, False, False, True)
    ]
    owner = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"
    assert query_database(server.home, owner) == [("recall",)]


def test_the_site_s_role_runs_no_program_and_reads_no_file_of_the_server(server: Postgres) -> None:
    query_database(server.home, "CREATE TABLE loot (line text)")
    for attack in ("COPY loot FROM PROGRAM 'id'", "COPY loot FROM '/etc/passwd'", "SELECT pg_read_file('PG_VERSION')"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            query_database(server.home, attack)


def test_a_database_of_the_superuser_s_is_handed_over_with_its_tables(server: Postgres) -> None:
    query_database(server.home, "ALTER DATABASE recall OWNER TO postgres", SUPERUSER)
    query_database(server.home, "CREATE TABLE old (id int GENERATED ALWAYS AS IDENTITY, what text)", SUPERUSER)
    again = Postgres(server.home)
    try:
        again.join()
        query_database(server.home, "INSERT INTO old (what) VALUES ('kept')")
        query_database(server.home, "ALTER TABLE old ADD COLUMN more text")
        assert query_database(server.home, "SELECT id, what FROM old") == [(1, "kept")]
    finally:
        again.leave()


def test_a_killed_server_is_started_again(server: Postgres) -> None:
    query_database(server.home, "CREATE TABLE kept (what text)")
    killed = postmaster(server.home)
    os.kill(killed, signal.SIGKILL)
    while psutil.pid_exists(killed) and psutil.Process(killed).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    server.check()
    assert postmaster(server.home) != killed
    assert query_database(server.home, "SELECT * FROM kept") == []


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
        query_database(server.home, "NONSENSE")
    assert 'syntax error at or near "NONSENSE"' in server.log.read_text()
    assert server.log.stat().st_size < 1000


@pytest.mark.parametrize("name", ["with blank and 'quote'", "deep" * 30, "comma,ed", "colon:ed"])
def test_postgres_lives_in_folders_of_any_name(tmp_path: Path, name: str) -> None:
    server = Postgres(tmp_path / name, {"fsync": "off"})
    try:
        server.join()
        query_database(tmp_path / name, "CREATE EXTENSION vector")
        assert query_database(tmp_path / name, "SELECT current_database(), '[1,2]'::vector::text") == [
            ("recall", "[1,2]")
        ]
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
        assert query_database(tmp_path / "shared", "SELECT 1") == [(1,)]
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
        assert query_database(tmp_path, "SELECT 1") == [(1,)]
    finally:
        server.leave()
