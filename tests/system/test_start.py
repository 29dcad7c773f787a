"""`python -m recall_site`: first start, second start, stops, crashes and refusals."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from recall_site.postgres import PORT, Postgres, embedded_database_settings
from tests.support.postgres import postmaster, processes_of
from tests.support.site import PATIENCE, Site, bare_environment, copy_data, free_port, remove_everybody

pytestmark = pytest.mark.xdist_group("start")

Run = Callable[..., "Site"]


@pytest.fixture
def home(tmp_path: Path, first_start: tuple[Path, str]) -> Path:
    """A copy of a data folder that has been started once."""
    return copy_data(first_start[0], tmp_path / "data")


@pytest.fixture
def run(home: Path) -> Iterator[Run]:
    """Starts sites and leaves none behind."""
    sites: list[Site] = []

    def start(**variables: object) -> Site:
        sites.append(Site(home, **variables))
        return sites[-1]

    yield start
    for site in sites:
        if site.process.poll() is None:
            site.stop(signal.SIGTERM)


@pytest.fixture(scope="module")
def second_start(first_start: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site over data that has been started once, for tests that change nothing."""
    site = Site(copy_data(first_start[0], tmp_path_factory.mktemp("second") / "data")).wait_until_up()
    yield site
    assert site.stop() == 0


def refusal(data: Path, **variables: object) -> str:
    """The one line a site prints that cannot start."""
    site = Site(data, **variables)
    assert site.process.wait(PATIENCE) == 1
    lines = site.output.read_text().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def test_the_first_start_tells_its_steps_and_how_to_sign_in(first_start: tuple[Path, str]) -> None:
    home, printed = first_start
    steps = ["Starting Postgres … ", "Applying ", "Loading the demo world … ", "Collecting static files … "]
    assert [line for line in printed.splitlines() if line.startswith(tuple(steps))] == printed.splitlines()[:4]
    assert f"Sign in as demo, password {(home / 'password').read_text().strip()}" in printed
    assert "Traceback" not in printed
    assert processes_of(home) == []


def test_the_second_start_keeps_the_data_and_repeats_nothing(second_start: Site) -> None:
    site = second_start
    printed = site.output.read_text()
    assert "Applying" not in printed
    assert "Loading" not in printed
    assert "Collecting" not in printed
    assert f"password {(site.data / 'password').read_text().strip()}" in printed
    assert site.query("SELECT username FROM auth_user") == [("demo",)]
    site.get("/admin/login/?next=/admin/")
    site.get("/api/v1/docs/")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_stops_everything_quietly(run: Run, home: Path, number: signal.Signals) -> None:
    site = run().wait_until_up()
    worker = site.worker()
    assert site.stop(number) == 0
    assert not worker.is_running()
    assert "Traceback" not in site.output.read_text()
    assert processes_of(home) == []


def test_connections_are_kept_alive_and_a_request_under_way_is_answered_when_the_site_stops(run: Run) -> None:
    site = run().wait_until_up()
    idle = HTTPConnection("127.0.0.1", int(site.port), timeout=10)
    idle.request("GET", "/health/live")
    assert idle.getresponse().read() == b'{"status": "live"}'
    first = idle.sock
    idle.request("GET", "/health/live")
    assert idle.getresponse().read() == b'{"status": "live"}'
    assert idle.sock is first

    busy = HTTPConnection("127.0.0.1", int(site.port), timeout=10)
    busy.putrequest("POST", "/sign-in/")
    busy.putheader("Content-Type", "application/x-www-form-urlencoded")
    busy.putheader("Content-Length", "12")
    busy.endheaders(b"username")
    time.sleep(1)  # until a thread reads the rest of the body
    os.kill(site.process.pid, signal.SIGTERM)
    time.sleep(1)
    busy.send(b"=ada")
    assert busy.getresponse().status == 403  # a form without its token
    idle.close()
    busy.close()
    assert site.process.wait(PATIENCE) == 0


def test_a_worker_that_is_killed_comes_back(run: Run) -> None:
    site = run().wait_until_up()
    killed = site.worker()
    killed.kill()
    site.query("DELETE FROM procrastinate_workers")
    assert site.worker().pid != killed.pid
    assert "the worker has died; restarting it" in site.output.read_text()


def test_a_worker_outlives_no_site_that_is_killed(run: Run) -> None:
    site = run().wait_until_up()
    worker = site.worker()
    site.process.kill()
    site.process.wait()
    psutil.wait_procs([worker], timeout=PATIENCE)
    assert not worker.is_running()


def test_a_site_can_do_without_a_worker(run: Run) -> None:
    site = run(RECALL_WORKER="off").wait_until_up()
    time.sleep(3)  # longer than a worker is waited with
    assert site.workers() == []


def test_a_job_is_worked_on_by_the_site_s_own_worker_even_if_postgres_dies_meanwhile(run: Run, home: Path) -> None:
    site = run().wait_until_up()
    site.worker()
    command = [sys.executable, "manage.py", "reembed", "demo", "--embedder", "wordllama-256"]
    variables = bare_environment(RECALL_DATA=home)
    ended = subprocess.run(command, cwd=settings.ROOT, env=variables, check=True, capture_output=True, text=True)
    assert ended.stdout.startswith("Queued as job ")
    os.kill(postmaster(home), signal.SIGKILL)
    site.wait_for_status("/health/ready", 200)
    deadline = time.monotonic() + 2 * PATIENCE
    while site.demo_embedder() != "wordllama-256":
        assert time.monotonic() < deadline, site.output.read_text()
        time.sleep(0.5)


def test_nothing_is_lost_when_everything_is_killed(run: Run) -> None:
    site = run().wait_until_up()
    site.query("CREATE TABLE kept (what text)")
    site.query("INSERT INTO kept VALUES ('this')")
    site.kill()
    assert run().wait_until_up().query("SELECT what FROM kept") == [("this",)]


def test_a_postgres_killed_under_the_site_comes_back_by_itself_with_its_data(run: Run, home: Path) -> None:
    site = run().wait_until_up()
    site.query("CREATE TABLE kept (what text)")
    site.query("INSERT INTO kept VALUES ('this')")
    killed = postmaster(home)
    os.kill(killed, signal.SIGKILL)
    site.wait_for_another_postgres(killed)  # whoever looks first starts it, perhaps before anybody asks
    site.wait_for_status("/health/ready", 200)
    assert site.query("SELECT what FROM kept") == [("this",)]
    assert site.status("/formulas/") == 200
    assert site.stop() == 0
    assert processes_of(home) == []


def test_a_pid_file_naming_another_program_does_not_keep_postgres_down(run: Run, home: Path) -> None:
    account = (home / "postgres").stat()
    other = (
        subprocess.Popen(["sleep", "60"], user=account.st_uid)
        if os.geteuid() == 0
        else subprocess.Popen(["sleep", "60"])
    )
    try:
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            stale = home / "postgres" / name
            stale.write_text(f"{other.pid}\n{home / 'postgres'}\n1\n5432\n\n\n\nready\n")
            os.chown(stale, account.st_uid, account.st_gid)
        run().wait_until_up()
    finally:
        other.kill()
        other.wait()


def test_a_command_shares_the_server_of_a_running_site(second_start: Site) -> None:
    home = second_start.data
    server = postmaster(home)
    command = [sys.executable, "manage.py", "showmigrations", "auth"]
    subprocess.run(command, cwd=settings.ROOT, env=bare_environment(RECALL_DATA=home), check=True, capture_output=True)
    assert postmaster(home) == server
    assert second_start.get("/health/ready") == '{"status": "ready"}'


def test_a_command_alone_starts_and_stops_the_server(home: Path) -> None:
    command = [sys.executable, "manage.py", "showmigrations", "auth"]
    subprocess.run(command, cwd=settings.ROOT, env=bare_environment(RECALL_DATA=home), check=True, capture_output=True)
    assert processes_of(home) == []


def test_a_chosen_password_replaces_the_one_that_was_made(run: Run) -> None:
    site = run(RECALL_PASSWORD="correct horse").wait_until_up()
    assert "Sign in as demo, password correct horse" in site.output.read_text()
    site.stop()
    assert "the password set earlier" in run().wait_until_up().output.read_text()


def test_a_database_in_use_gets_no_demo(run: Run, home: Path) -> None:
    remove_everybody(home)
    command = [
        sys.executable,
        "manage.py",
        "createsuperuser",
        "--noinput",
        "--username",
        "ada",
        "--email",
        "a@b.example",
    ]
    variables = bare_environment(RECALL_DATA=home, DJANGO_SUPERUSER_PASSWORD="correct horse")
    subprocess.run(command, cwd=settings.ROOT, env=variables, check=True, capture_output=True)
    site = run(RECALL_PASSWORD="battery staple").wait_until_up()
    assert site.query("SELECT username FROM auth_user") == [("ada",)]
    assert site.query("SELECT count(*) FROM memories_namespace") == [(0,)]
    assert "Sign in as yourself; another user: .venv/bin/python manage.py createsuperuser" in site.output.read_text()
    assert "battery staple" not in site.output.read_text()


def test_the_demo_can_be_switched_off_and_on(run: Run, home: Path) -> None:
    remove_everybody(home)
    without = run(RECALL_DEMO="off").wait_until_up()
    assert "Create a first user: .venv/bin/python manage.py createsuperuser" in without.output.read_text()
    assert "password" not in without.output.read_text()
    assert without.query("SELECT count(*) FROM auth_user") == [(0,)]
    without.stop()
    assert "Loading the demo world" in (site := run().wait_until_up()).output.read_text()
    assert site.query("SELECT slug FROM memories_namespace") == [("demo",)]


def test_a_named_database_is_used_and_no_other_started(tmp_path: Path, home: Path) -> None:
    external = Postgres(home)
    external.join()
    try:
        known = embedded_database_settings(home)
        url = f"postgres://{known['USER']}@/{known['NAME']}?host={known['HOST']}&port={PORT}"
        site = Site(tmp_path / "own", DATABASE_URL=url).wait_until_up()
        assert "Starting Postgres" not in site.output.read_text()
        assert site.get("/health/ready") == '{"status": "ready"}'
        assert site.stop() == 0
        assert not (tmp_path / "own" / "postgres").exists()
        assert postmaster(home)
    finally:
        external.leave()
    assert processes_of(home) == []


def test_a_taken_port_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert refusal(tmp_path / "data", PORT=port) == (
            f"Recall cannot start: cannot listen on 127.0.0.1 port {port} (already in use); "
            "choose another port: make run PORT=8001"
        )


def test_a_bad_port_is_reported_in_one_sentence(tmp_path: Path) -> None:
    told = "Recall cannot start: PORT must be a whole number from 1 to 65535; got 'eighty'."
    assert refusal(tmp_path / "data", PORT="eighty") == told


def test_a_folder_that_cannot_be_written_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()  # root may write anywhere, but not below a file
    folder = tmp_path / "file" / "data"
    assert refusal_elsewhere(tmp_path, RECALL_DATA=folder) == (
        f"Recall cannot start: {folder} is not writable (not a directory); "
        "choose another folder: RECALL_DATA=/path make run"
    )


def refusal_elsewhere(tmp_path: Path, **variables: object) -> str:
    """As above, for a data folder beside which no output can be kept."""
    command = [sys.executable, "-m", "recall_site"]
    ended = subprocess.run(
        command, cwd=settings.ROOT, env=bare_environment(**variables), capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    return ended.stderr.strip()


def test_a_database_that_does_not_answer_is_reported_in_one_sentence(tmp_path: Path) -> None:
    told = refusal(tmp_path / "data", DATABASE_URL=f"postgres://me:secret@127.0.0.1:{free_port()}/recall")
    assert told.startswith("Recall cannot start: connection failed: ")
    assert "secret" not in told


def test_data_of_another_postgres_is_refused_in_one_sentence(tmp_path: Path) -> None:
    data = tmp_path / "data" / "postgres"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("12\n")
    site = Site(tmp_path / "data")
    assert site.process.wait(PATIENCE) == 1
    last = site.output.read_text().splitlines()[-1]
    assert last.startswith(f"Recall cannot start: {data} was written by Postgres 12 and Recall includes Postgres 18; ")
