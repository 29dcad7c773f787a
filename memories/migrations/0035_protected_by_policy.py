"""What protects a memory from decay is the write policy's alone: adaptive's own level leaves stored parameters."""

from importlib import import_module
from typing import Any

from django.db import migrations

stored_json = import_module("memories.migrations.0027_glossary_words")

LEVEL = "protected_above"
TABLES = ("profileversion", "trace", "tracedset", "evaluation")


def without_level(value: Any) -> Any:
    """JSON without the parameter, at any depth."""
    if isinstance(value, dict):
        return {key: without_level(item) for key, item in value.items() if key != LEVEL}
    return [without_level(item) for item in value if item != LEVEL] if isinstance(value, list) else value


def drop_level(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        for table in TABLES:
            stored_json.rewrite(cursor, f"memories_{table}", "params", without_level)
        stored_json.rewrite(cursor, "memories_job", "params", without_level)


class Migration(migrations.Migration):
    dependencies = [("memories", "0034_fill_predicate_postings")]

    # Backwards the level is what it was by default.
    operations = [migrations.RunPython(drop_level, migrations.RunPython.noop)]
