"""Bring the whole site up: database, migrations, demo world, static files, server."""

import errno
import os
import secrets
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connections, transaction
from django.db.utils import NotSupportedError, OperationalError

from recall_site import data_folder, start, static_files
from recall_site.data_folder import StartError
from recall_site.postgres import Postgres
from recall_site.server import Server, url

if TYPE_CHECKING:
    from django.contrib.auth.models import User

DEMO = "demo"
CREATE_USER = ".venv/bin/python manage.py createsuperuser"


def main() -> None:
    """Bring the site up and serve it until it is stopped."""
    try:
        start.ensure_secret_key()
        django.setup()
        check_port()
        check_reranker()
        data_folder.prepare(settings.DATA)
        postgres = start_postgres()
        migrate()
        make_days_for_traces()
        way_in = ensure_demo()
        collect_static_files()
        forget_old_counts()
        connections.close_all()  # workers must not inherit them
        serve(way_in, postgres)
    except (StartError, ImproperlyConfigured, OperationalError, NotSupportedError) as error:
        sys.exit(f"Recall cannot start: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        sys.exit(130)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Say what is done while it is done, and how long it took."""
    began = time.monotonic()
    print(f"{name} … ", end="", flush=True)
    try:
        yield
    except BaseException:
        print(flush=True)
        raise
    print(f"{time.monotonic() - began:.1f} s", flush=True)


def check_port() -> None:
    """Refuse early if the site could not listen."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(settings.HOST, settings.PORT, type=socket.SOCK_STREAM)[
            0
        ]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        place = f"{settings.HOST} port {settings.PORT}"
        reason = "it is taken" if error.errno == errno.EADDRINUSE else (error.strerror or str(error)).lower()
        raise StartError(f"{place} cannot be used ({reason}); choose another port: make run PORT=8001") from error


def check_reranker() -> None:
    """Refuse early a cross-encoder that could not be used."""
    from memories.providers import reranker  # needs the settings

    if settings.RECALL_RERANKER == reranker.MAXSIM:
        return
    try:
        reranker.cross_encoder(settings.RECALL_RERANKER)
    except reranker.RerankerError as error:
        raise StartError(f"RECALL_RERANKER cannot be used. {error}") from error


def start_postgres() -> Postgres | None:
    """The embedded server, unless another database is named."""
    if not settings.EMBEDDED_POSTGRES:
        return None
    with step("Starting Postgres"):
        return start.ensure_database()


def migrate() -> None:
    """Bring the database to today's schema, if its server can carry that."""
    from recall_site import health  # needs the settings, which main makes sure of

    if fault := health.fault_of_postgres() or health.fault_of_pgvector(health.pgvector_version(available=True)):
        raise StartError(fault)
    if pending := len(health.pending_migrations()):
        with step(f"Applying {pending} migrations"):
            call_command("migrate", interactive=False, verbosity=0)


def make_days_for_traces() -> None:
    """Have today's traces lie in their own partition from the first on."""
    from memories.jobs import scheduled  # needs Django set up

    # Where somebody holds the table, the default partition takes them until the worker has made the day.
    with suppress(OperationalError):
        scheduled.ensure_trace_partitions()


def ensure_demo() -> str:
    """Load the demo world and its user into a database that nobody uses yet, both or neither; say how to sign in."""
    from django.contrib.auth.models import User  # these need Django set up

    from memories.models import Namespace

    if settings.RECALL_DEMO and not User.objects.exists() and not Namespace.objects.exists():
        password = settings.RECALL_PASSWORD
        password = password or data_folder.keep(settings.DATA, "password", lambda: secrets.token_urlsafe(9))
        with step("Loading the demo world"), transaction.atomic():
            User.objects.create_user(DEMO, password=password)
            call_command("load_demo", verbosity=0)
    if not User.objects.exists():
        return f"Make a first user: {CREATE_USER}"
    demo = User.objects.filter(username=DEMO).first() if settings.RECALL_DEMO else None
    return f"Sign in as {DEMO}, {password_of(demo)}" if demo else f"Sign in as yourself; another user: {CREATE_USER}"


def password_of(demo: "User") -> str:
    """The demo user's password, which RECALL_PASSWORD sets anew."""
    chosen = settings.RECALL_PASSWORD
    if chosen and not demo.check_password(chosen):
        demo.set_password(chosen)
        demo.save(update_fields=["password"])
    password = chosen or data_folder.kept(settings.DATA, "password")
    if password and demo.check_password(password):
        return f"password {password}"
    return "the password given earlier (RECALL_PASSWORD=… make run sets a new one)"


def collect_static_files() -> None:
    """Bring static files up to date."""
    if static_files.outdated():
        with step("Collecting static files"):
            static_files.collect()


def forget_old_counts() -> None:
    """Begin the metrics anew."""
    from recall_site import metrics  # needs Django set up

    metrics.sweep()


def serve(way_in: str, postgres: Postgres | None) -> None:
    """Answer requests, and say where once they are answered."""

    def tell() -> None:
        lines = [f"Recall is at {url()}", way_in, f"API docs {url()}/api/v1/docs/"]
        print("", *lines, "Ctrl-C stops it.", "", sep="\n", flush=True)

    os.chdir(settings.ROOT)
    Server(tell, postgres).run()
