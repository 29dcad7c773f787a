from typing import Any
from uuid import UUID

from django.db import migrations, models

import memories.models.packed_json
from memories.db.json_codec import encode_json, unpack_json

AT_ONCE = 1_000  # rows
# All in one go, as it writes the table anew; what is there stays plain JSON, as bytes.
FORWARDS = """
    ALTER TABLE memories_trace
        ALTER COLUMN answer TYPE bytea USING convert_to((answer - 'against')::text, 'UTF8'),
        ALTER COLUMN results TYPE smallint USING coalesce(jsonb_array_length(answer -> 'results'), 0),
        ALTER COLUMN against TYPE jsonb USING answer -> 'against'
"""
BACKWARDS = """
    ALTER TABLE memories_trace ALTER COLUMN answer TYPE jsonb
    USING convert_from(answer, 'UTF8')::jsonb
        || CASE WHEN against IS NULL THEN '{}' ELSE jsonb_build_object('against', against) END
"""
SOME = """
    SELECT answer, namespace_id, id FROM memories_trace WHERE (namespace_id, id) > (%s, %s)
    ORDER BY namespace_id, id LIMIT %s
"""


def unpack(apps: Any, schema_editor: Any) -> None:
    """Plain JSON again, a part at a time."""
    last = (UUID(int=0), UUID(int=0))
    with schema_editor.connection.cursor() as cursor:
        while rows := cursor.execute(SOME, [*last, AT_ONCE]).fetchall():
            plain = [(encode_json(unpack_json(bytes(answer))), *key) for answer, *key in rows]
            cursor.executemany("UPDATE memories_trace SET answer = %s WHERE namespace_id = %s AND id = %s", plain)
            last = rows[-1][1:]


class Migration(migrations.Migration):
    dependencies = [("memories", "0024_looking_up")]

    operations = [
        migrations.AddField(
            model_name="trace",
            name="results",
            field=models.PositiveSmallIntegerField(default=0, help_text="number of results"),
        ),
        migrations.AddField(
            model_name="trace",
            name="against",
            field=models.JSONField(null=True, help_text="comparison of a shadow's answer with the one returned"),
        ),
        migrations.RunSQL(
            FORWARDS,
            BACKWARDS,
            state_operations=[
                migrations.AlterField(
                    model_name="trace",
                    name="answer",
                    field=memories.models.packed_json.PackedJSONField(default=dict),
                ),
            ],
        ),
        migrations.RunPython(migrations.RunPython.noop, unpack),
    ]
