"""The keys of all names, by the code that writes them: another rule for keys needs another migration."""

from typing import Any

from django.db import migrations

NAMES = """
    SELECT namespace_id, id, name, kind FROM memories_entity
    UNION ALL
    SELECT a.namespace_id, a.entity_id, a.name, e.kind FROM memories_entityalias a
    JOIN memories_entity e ON e.namespace_id = a.namespace_id AND e.id = a.entity_id
"""
ADD = """
    INSERT INTO memories_namekey (namespace_id, key, entity_id)
    SELECT * FROM unnest(%s::uuid[], %s::text[], %s::uuid[]) ON CONFLICT DO NOTHING
"""
BATCH = 2_000  # names


def fill_keys(apps: Any, schema_editor: Any) -> None:
    from memories.text.name_index import keys_of_name

    with schema_editor.connection.cursor() as cursor:
        cursor.execute(NAMES)
        names = cursor.fetchall()
        for start in range(0, len(names), BATCH):
            rows = [
                (namespace, key, entity)
                for namespace, entity, name, kind in names[start : start + BATCH]
                for key in keys_of_name(name, kind)
            ]
            if rows:
                cursor.execute(ADD, [list(column) for column in zip(*rows, strict=True)])


class Migration(migrations.Migration):
    dependencies = [("memories", "0039_name_keys")]

    operations = [migrations.RunPython(fill_keys, migrations.RunPython.noop)]
