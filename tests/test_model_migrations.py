"""The migrations make exactly the models, and can be taken back."""

import re
from io import StringIO

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

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
