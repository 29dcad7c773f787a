"""Whether the site lives, and whether it can serve."""

import logging
import threading

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from recall_site.problems import problem

logger = logging.getLogger(__name__)

POSTGRES = 15
PGVECTOR = (0, 8)

complete = threading.Event()  # every migration was seen applied; for the life of the process


@never_cache
@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return JsonResponse({"status": "live"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """The database answers, has pgvector, and every migration is applied."""
    missing = what_is_missing()
    if missing:
        return problem(503, missing, code="not_ready")
    return JsonResponse({"status": "ready"})


def what_is_missing() -> str:
    """The first thing that keeps the site from serving, in words for anyone, or nothing; the log tells the rest."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return "" if complete.is_set() else fault_of_schema()
    except Error as error:
        logger.warning("The database does not answer: %s", error)
        return "The database does not answer."


def fault_of_schema() -> str:
    """What the database lacks, or nothing; found complete once, it is not looked at again."""
    if pending := pending_migrations():
        logger.warning("Not applied: %s", ", ".join(pending))
        return "The database is not migrated; run manage.py migrate."
    if fault := fault_of_pgvector(pgvector_version()):
        logger.warning(fault)
        return "The database lacks pgvector, or has too old a one."
    complete.set()
    return ""


def fault_of_postgres() -> str:
    """What is wrong with the database server's version, or nothing."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        major = int(cursor.fetchone()[0]) // 10_000
    return "" if major >= POSTGRES else f"Postgres must be {POSTGRES} or newer, not {major}."


def fault_of_pgvector(version: str | None) -> str:
    """What is wrong with this version of pgvector, or nothing."""
    needed = ".".join(map(str, PGVECTOR))
    if version is None:
        return f"The database lacks pgvector, the extension vector; it needs {needed} or newer."
    if tuple(int(part) for part in version.split(".")[:2]) < PGVECTOR:
        return f"pgvector must be {needed} or newer, not {version}."
    return ""


def pgvector_version(*, available: bool = False) -> str | None:
    """The version of pgvector in the database, or the one its server could give it; None without."""
    in_use = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'" if available else in_use
        )
        row = cursor.fetchone()
    return row[0] if row else None


def pending_migrations() -> list[str]:
    """The names of migrations that the database has not seen."""
    executor = MigrationExecutor(connection)
    return [str(migration) for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())]
