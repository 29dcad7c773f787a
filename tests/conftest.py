"""A real Postgres and a real browser for every test that asks for them."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connections
from hypothesis import settings as hypotheses
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, sync_playwright
from prometheus_client.values import close_all_multiprocess_files
from pytest_django.live_server_helper import LiveServer

from memories.models import JudgementSet, Namespace
from recall_site import data_folder
from recall_site.postgres import Postgres, embedded_database_settings
from tests.support.examples import FUZZ
from tests.support.judged_world import make_judgement_set
from tests.support.retrieval_world import store_world
from tests.support.site import Site, copy_data, remove_everybody

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Nothing in a test database must outlive a power cut, and no plan may depend on when autovacuum came by.
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "200",
}
NEEDS_POSTGRES = {"db", "transactional_db", "live_server", "django_db_setup"}
POSTGRES_HOME = "RECALL_TEST_POSTGRES"
HOME_LOCK = pytest.StashKey[IO[str]]()
# No deadline: the time of one example depends on the machine. `make fuzz` looks further, and elsewhere each time.
hypotheses.register_profile("ci", deadline=None, derandomize=True, database=None, max_examples=40)
hypotheses.register_profile(FUZZ, deadline=None, max_examples=200)
hypotheses.load_profile("ci")


def pytest_configure(config: pytest.Config) -> None:
    """Serve static files from where they lie, and choose the folder of this session's Postgres."""
    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.WHITENOISE_AUTOREFRESH = settings.WHITENOISE_USE_FINDERS = True
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    if not hasattr(config, "workerinput"):
        config.stash[HOME_LOCK], home = free_home(settings.DATA / "tests")
        os.environ[POSTGRES_HOME] = str(home)  # which xdist's workers inherit
    # Apart from what a site in the same folder counts.
    settings.METRICS = Path(tempfile.mkdtemp(prefix="metrics"))
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(settings.METRICS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs Postgres, directly or by a fixture: `make check` leaves it out."""
    for item in items:
        if item.get_closest_marker("django_db") or NEEDS_POSTGRES & set(getattr(item, "fixturenames", ())):
            item.add_marker("database")


def free_home(folder: Path) -> tuple[IO[str], Path]:
    """The first folder no other session uses; kept between sessions, so that a killed one leaves nothing running."""
    data_folder.prepare(folder.parent)
    data_folder.prepare(folder)
    number = 0
    while True:
        lock = (folder / f"{number}.lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            number += 1
        else:
            return lock, folder / str(number)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Give the folder free, and drop what was counted."""
    close_all_multiprocess_files()
    shutil.rmtree(settings.METRICS)
    if HOME_LOCK in config.stash:
        config.stash[HOME_LOCK].close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[None]:
    """A Postgres of the tests' own, or the one that DATABASE_URL names."""
    if not settings.EMBEDDED_POSTGRES:
        yield
        return
    server = Postgres(Path(os.environ[POSTGRES_HOME]), FAST)
    try:
        server.join()
        settings.DATABASES["default"]["HOST"] = embedded_database_settings(server.home)["HOST"]
        yield
    finally:
        server.leave()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None, postgres: None) -> None:
    """Have the server stand before pytest-django makes its databases, and stand until they are gone."""


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[Namespace]:
    """The retrieval world, stored once for all tests of a module."""
    with django_db_blocker.unblock():
        namespace = store_world("asked")
    yield namespace
    with django_db_blocker.unblock():
        namespace.delete()


@pytest.fixture(scope="module")
def judgement_set(world: Namespace, django_db_blocker: Any) -> Iterator[JudgementSet]:
    """The judgement set over the retrieval world, stored once for all tests of a module."""
    with django_db_blocker.unblock():
        judgement_set = make_judgement_set(world)
    yield judgement_set
    with django_db_blocker.unblock():
        judgement_set.delete()


@pytest.fixture(scope="session")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The data folder that a first start leaves, and what it printed; its users belong to the xdist group `start`."""
    home = tmp_path_factory.mktemp("first") / "data"
    site = Site(home).wait_until_up()
    assert site.get("/health/ready") == '{"status": "ready"}'
    assert site.stop() == 0
    return home, site.output.read_text()


@pytest.fixture(scope="session")
def empty_data(first_start: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated data folder without users and namespaces, to be copied."""
    return remove_everybody(copy_data(first_start[0], tmp_path_factory.mktemp("empty") / "data"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert path, f"the browser tests need one of {', '.join(BROWSERS)}"
    # Playwright keeps an event loop running in this thread, where Django would refuse the ORM.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=BROWSER_OPTIONS)
        yield chromium
        chromium.close()
        connections.close_all()  # those of the event loop, which Django keeps apart from the thread's own


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained of so far; a test that provokes one removes it."""
    return []


@pytest.fixture
def page(browser: Browser, live_server: LiveServer, complaints: list[str]) -> Iterator[Page]:
    """A page of the running site; errors on its console and requests that leave this machine fail the test."""
    context = browser.new_context(base_url=live_server.url)

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(f"console: {message.text}")

    def on_error(error: Error) -> None:
        complaints.append(f"script: {error.message}")

    def on_request(request: Request) -> None:
        if urlsplit(request.url).hostname not in (None, "localhost", "127.0.0.1"):
            complaints.append(f"request to {request.url}")

    page = context.new_page()
    page.on("console", on_console)
    page.on("pageerror", on_error)
    page.on("request", on_request)
    yield page
    context.close()
    assert not complaints
