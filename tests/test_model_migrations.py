"""The migrations make exactly the models, and can be taken back."""

import json
import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from test_model_rows import row

from memories.db.ids import uuid7
from memories.models import Namespace, Trace

pytestmark = pytest.mark.django_db

A_DAY = re.compile(r"memories_trace_\d{4}_")
SCHEMA = """
    SELECT 'column', table_name || '.' || column_name, data_type || ' ' || is_nullable
    FROM information_schema.columns WHERE table_name LIKE 'memories\\_%'
    UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE tablename LIKE 'memories\\_%'
    UNION ALL SELECT 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE conrelid::regclass::text LIKE 'memories\\_%'
    UNION ALL SELECT 'extension', extname, extversion FROM pg_extension ORDER BY 1, 2, 3"""


def schema() -> list[tuple[str, str, str]]:
    """List all that the migrations have made, without the days that the worker adds to the traces."""
    with connection.cursor() as cursor:
        cursor.execute(SCHEMA.replace("%", "%%"), [])
        return [found for found in cursor.fetchall() if not A_DAY.search(f"{found[1]} {found[2]}")]


def test_no_migration_is_missing() -> None:
    call_command("makemigrations", "--check", "--dry-run", stdout=StringIO())


def test_migrations_go_down_to_nothing_and_up_to_the_same_again() -> None:
    before = schema()
    call_command("migrate", "memories", "zero", verbosity=0)
    assert [found for found in schema() if found[1] != "plpgsql"] == []
    call_command("migrate", "memories", verbosity=0)
    assert schema() == before


# A shadow's answer as it was stored before answers were packed.
BEFORE = """
    INSERT INTO memories_trace (namespace_id, id, at, as_of, query, request, system, params, plan, layout, candidates,
        signals, answer, abstained, took_ms, shadow)
    VALUES (%s, %s, now(), now(), 'Which oven?', '{}', 'blend', '{}', '{}', 1, '{}', '', %s, false, '{}', true)
"""


def test_answers_stay_what_they_were_when_they_are_packed_and_when_that_is_taken_back() -> None:
    namespace = Namespace.objects.create(slug="here")
    old: dict[str, Any] = {"results": [{"content": 'Zürich \\ "oven"'}], "plan": {"window": None}}
    against = {"rbo": 0.5}
    call_command("migrate", "memories", "0024", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(BEFORE, [namespace.id, uuid7(), json.dumps({**old, "against": against})])
    call_command("migrate", "memories", verbosity=0)
    kept = Trace.objects.get()
    assert (kept.answer, kept.results, kept.against) == (old, 1, against)

    new = {"results": [], "as_of": "2026-03-01T09:00:00Z"}
    row(Trace, namespace, query="new", answer=new, at=kept.at + timedelta(seconds=1))
    call_command("migrate", "memories", "0024", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT answer FROM memories_trace ORDER BY at")
        stored = [json.loads(answer) for (answer,) in cursor.fetchall()]
    assert stored == [{**old, "against": against}, new]
    call_command("migrate", "memories", verbosity=0)


def test_a_relation_added_later_comes_with_its_column_and_its_foreign_key() -> None:
    before = schema()
    now = ProjectState.from_apps(apps)
    earlier = now.clone()
    version = earlier.models["memories", "publication"]
    for name in ("policy_version", "policy_version_id"):
        del version.fields[name]
    for kind in ("constraints", "indexes"):
        version.options[kind] = [one for one in version.options[kind] if "policy" not in one.name]
    with connection.schema_editor() as editor:
        editor.execute("ALTER TABLE memories_publication DROP COLUMN policy_version_id")

    changes = MigrationAutodetector(earlier, now).changes(MigrationLoader(None).graph)
    (migration,) = changes["memories"]
    assert [type(operation).__name__ for operation in migration.operations] == [
        "AddField",
        "AddField",
        "AddIndex",
        "AddConstraint",
    ]
    with connection.schema_editor(atomic=True) as editor:
        migration.apply(earlier, editor)
    assert schema() == before


def test_every_migration_has_a_name_that_says_what_it_makes() -> None:
    names = sorted(name for app, name in MigrationLoader(connection).disk_migrations if app == "memories")
    assert names[0] == "0001_vector_extension"
    assert [name for name in names if "auto" in name or "initial" in name] == []
