"""Liveness and readiness probes, and the checks of Postgres, pgvector and migrations behind them."""

import logging
import threading

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories.web.problems import problem

logger = logging.getLogger(__name__)

MIN_POSTGRES = 15
MIN_PGVECTOR = (0, 8)

schema_complete = threading.Event()  # checked once per process


@never_cache
@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """Liveness: the process answers."""
    return JsonResponse({"status": "live"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """Readiness: the database answers, has pgvector, and every migration is applied."""
    if reason := not_ready_reason():
        return problem(503, reason, code="not_ready")
    return JsonResponse({"status": "ready"})


def not_ready_reason() -> str:
    """Why the site cannot serve, without details, which are logged; empty if it can."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return "" if schema_complete.is_set() else schema_fault()
    except Error as error:
        logger.warning("the database does not answer: %s", error)
        return "The database does not answer."


def schema_fault() -> str:
    """What the schema lacks; empty if it is complete, which is then not checked again."""
    if pending := pending_migrations():
        logger.warning("unapplied migrations: %s", ", ".join(pending))
        return "The database is not migrated; run manage.py migrate."
    if fault := pgvector_fault(pgvector_version()):
        logger.warning(fault)
        return "The database lacks pgvector, or its version is too old."
    schema_complete.set()
    return ""


def postgres_fault() -> str:
    """What is wrong with the server's version; empty if nothing."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        major = int(cursor.fetchone()[0]) // 10_000
    return "" if major >= MIN_POSTGRES else f"Postgres must be {MIN_POSTGRES} or newer, not {major}."


def pgvector_fault(version: str | None) -> str:
    """What is wrong with a version of pgvector; empty if nothing."""
    needed = ".".join(map(str, MIN_PGVECTOR))
    if version is None:
        return f"The database lacks pgvector (the extension vector); it needs {needed} or newer."
    if tuple(int(part) for part in version.split(".")[:2]) < MIN_PGVECTOR:
        return f"pgvector must be {needed} or newer, not {version}."
    return ""


def pgvector_version(*, available: bool = False) -> str | None:
    """The version of pgvector installed in the database, or available on its server; None if there is none."""
    installed = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'" if available else installed
        )
        row = cursor.fetchone()
    return row[0] if row else None


def pending_migrations() -> list[str]:
    """The names of unapplied migrations."""
    executor = MigrationExecutor(connection)
    return [str(migration) for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())]
