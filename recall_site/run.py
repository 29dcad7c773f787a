"""Start the site: database, migrations, demo world, static files, server."""

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
from recall_site.server import Server, site_url

if TYPE_CHECKING:
    from django.contrib.auth.models import User

DEMO = "demo"
CREATE_USER = ".venv/bin/python manage.py createsuperuser"


def run_site() -> None:
    """Start the site and serve it until it is stopped."""
    try:
        start.ensure_secret_key()
        django.setup()
        check_port()
        check_reranker()
        postgres = start_postgres()
        migrate()
        create_trace_partitions()
        sign_in_hint = ensure_demo()
        collect_static_files()
        clear_old_metrics()
        # Worker processes must inherit neither connections nor models, whose threads do not survive a fork.
        connections.close_all()
        unload_models()
        serve(sign_in_hint, postgres)
    except (StartError, ImproperlyConfigured, OperationalError, NotSupportedError) as error:
        sys.exit(f"Recall cannot start: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        sys.exit(130)


@contextmanager
def timed_step(name: str) -> Iterator[None]:
    """Print a step's name while it runs, then its duration."""
    started = time.monotonic()
    print(f"{name} … ", end="", flush=True)
    try:
        yield
    except BaseException:
        print(flush=True)
        raise
    print(f"{time.monotonic() - started:.1f} s", flush=True)


def check_port() -> None:
    """Fail early if the port cannot be bound."""
    try:
        addresses = socket.getaddrinfo(settings.HOST, settings.PORT, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = addresses[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        reason = "already in use" if error.errno == errno.EADDRINUSE else (error.strerror or str(error)).lower()
        raise StartError(
            f"cannot listen on {settings.HOST} port {settings.PORT} ({reason}); choose another port: make run PORT=8001"
        ) from error


def check_reranker() -> None:
    """Fail early if the configured cross-encoder cannot be loaded."""
    from memories.providers import reranker  # needs the settings

    if settings.RECALL_RERANKER == reranker.MAXSIM:
        return
    try:
        reranker.load_cross_encoder(settings.RECALL_RERANKER)
    except reranker.RerankerError as error:
        raise StartError(f"RECALL_RERANKER cannot be used. {error}") from error


def start_postgres() -> Postgres | None:
    """The embedded server, unless DATABASE_URL names another database."""
    if not settings.EMBEDDED_POSTGRES:
        return None
    with timed_step("Starting Postgres"):
        return start.ensure_database()


def migrate() -> None:
    """Apply pending migrations, if the server's versions allow it."""
    from recall_site import readiness  # needs the settings

    if fault := readiness.postgres_fault() or readiness.pgvector_fault(readiness.pgvector_version(available=True)):
        raise StartError(fault)
    if pending := len(readiness.pending_migrations()):
        with timed_step(f"Applying {pending} migrations"):
            call_command("migrate", interactive=False, verbosity=0)


def create_trace_partitions() -> None:
    """Create today's partition for traces."""
    from memories.jobs import scheduled  # needs Django set up

    # If the table is locked, the default partition takes the traces until the worker has created the day's.
    with suppress(OperationalError):
        scheduled.ensure_trace_partitions()


def ensure_demo() -> str:
    """Load the demo world and its user, both or neither, into an unused database; return how to sign in."""
    from django.contrib.auth.models import User  # these need Django set up

    from memories.models import Namespace

    if settings.RECALL_DEMO and not User.objects.exists() and not Namespace.objects.exists():
        password = settings.RECALL_PASSWORD
        password = password or data_folder.ensure_secret(settings.DATA, "password", lambda: secrets.token_urlsafe(9))
        with timed_step("Loading the demo world"), transaction.atomic():
            User.objects.create_user(DEMO, password=password)
            call_command("load_demo", verbosity=0)
    if not User.objects.exists():
        return f"Create a first user: {CREATE_USER}"
    demo = User.objects.filter(username=DEMO).first() if settings.RECALL_DEMO else None
    return f"Sign in as {DEMO}, {password_hint(demo)}" if demo else f"Sign in as yourself; another user: {CREATE_USER}"


def password_hint(demo: "User") -> str:
    """The demo user's password; RECALL_PASSWORD sets a new one."""
    chosen = settings.RECALL_PASSWORD
    if chosen and not demo.check_password(chosen):
        demo.set_password(chosen)
        demo.save(update_fields=["password"])
    password = chosen or data_folder.read_secret(settings.DATA, "password")
    if password and demo.check_password(password):
        return f"password {password}"
    return "with the password set earlier (RECALL_PASSWORD=… make run sets a new one)"


def collect_static_files() -> None:
    """Collect the static files if any has changed."""
    if static_files.is_stale():
        with timed_step("Collecting static files"):
            static_files.collect()


def clear_old_metrics() -> None:
    """Delete the metrics of processes that have ended."""
    from memories.web import prometheus  # needs Django set up

    prometheus.drop_stale_counters()


def unload_models() -> None:
    """Free the embedder that loading the demo world has used."""
    from memories.providers import embedder  # needs Django set up

    embedder.unload()


def serve(sign_in_hint: str, postgres: Postgres | None) -> None:
    """Serve requests, and print the URL once the site is ready."""

    def print_url() -> None:
        lines = [f"Recall is running at {site_url()}", sign_in_hint, f"API docs: {site_url()}/api/v1/docs/"]
        print("", *lines, "Press Ctrl-C to stop.", "", sep="\n", flush=True)

    os.chdir(settings.ROOT)
    Server(print_url, postgres).run()
