"""Sources get a name: of the session's user, the turn's speaker, or the agent, as stored beside them."""

from typing import Any

from django.db import migrations, models

# Without a session only a memory's first observation is certainly its owner's; any other stays unnamed.
NAMED = """
        SELECT o.namespace_id, o.id, coalesce(
            nullif(c."user", ''), nullif(t.speaker, ''), nullif(c.agent, ''),
            CASE WHEN o.session_id IS NULL AND m.session_id IS NULL THEN coalesce(nullif(m."user", ''), m.agent) END, ''
        ) AS source
        FROM memories_memorysource o
        JOIN memories_memory m ON m.namespace_id = o.namespace_id AND m.id = o.memory_id
        LEFT JOIN memories_session c ON c.namespace_id = o.namespace_id AND c.id = o.session_id
        LEFT JOIN memories_turn t ON t.namespace_id = o.namespace_id AND t.id = o.turn_id
        WHERE m.level IN ('fact', 'summary')
"""
NAME_SOURCES = f"""
    UPDATE memories_memorysource s SET source = named.source FROM ({NAMED} AND o.source = '') AS named
    WHERE s.namespace_id = named.namespace_id AND s.id = named.id AND named.source <> '' AND NOT EXISTS (
        SELECT FROM memories_memorysource other
        WHERE other.namespace_id = s.namespace_id AND other.memory_id = s.memory_id
            AND other.session_id IS NOT DISTINCT FROM s.session_id AND other.turn_id IS NULL AND s.turn_id IS NULL
            AND other.source = named.source
    )
"""


REMOVE_NAMES = f"""
    UPDATE memories_memorysource s SET source = '' FROM ({NAMED} AND o.source <> '') AS named
    WHERE s.namespace_id = named.namespace_id AND s.id = named.id AND s.source = named.source
"""


def name_sources(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(NAME_SOURCES)


def remove_names(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(REMOVE_NAMES)


class Migration(migrations.Migration):
    dependencies = [("memories", "0031_glossary_signals")]

    operations = [
        migrations.AlterField(
            model_name="memorysource",
            name="source",
            field=models.CharField(
                blank=True,
                help_text="who or what said it: a user, a document, a tool; empty if unknown",
                max_length=200,
            ),
        ),
        migrations.RunPython(name_sources, remove_names),
    ]
