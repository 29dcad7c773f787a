"""An HNSW index of its own for every namespace that has vectors in the shared one."""

from hashlib import sha256
from typing import Any

from django.db import migrations

NAMESPACES = """
    SELECT n.id, n.embedder, count(*), max(vector_dims(v.vector))
    FROM memories_namespace n JOIN memories_memoryvector v ON v.namespace_id = n.id AND v.embedder = n.embedder
    JOIN memories_namespacestatistics s ON s.namespace_id = n.id
    WHERE v.indexed AND s.documents >= 20000 GROUP BY 1, 2
"""
BUILD = """
    CREATE INDEX {name} ON memories_memoryvector USING hnsw ((vector::halfvec({dimensions})) halfvec_cosine_ops)
    WITH (ef_construction = 128) WHERE namespace_id = '{namespace}' AND embedder = '{embedder}' AND indexed
"""


def build_indexes(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(NAMESPACES)
        for namespace, embedder, vectors, dimensions in cursor.fetchall():
            name = f"memoryvector_hnsw_{namespace.hex}_{sha256(embedder.encode()).hexdigest()[:8]}"
            kilobytes = min(2**31, max(2**26, vectors * (2 * dimensions + 600))) // 1024
            cursor.execute("SELECT set_config('maintenance_work_mem', %s, true)", [f"{kilobytes}kB"])
            values = {"name": name, "dimensions": dimensions, "namespace": namespace}
            cursor.execute(BUILD.format(**values, embedder=embedder.replace("'", "''")))
            cursor.execute(
                "UPDATE memories_namespacestatistics SET vector_index = %s WHERE namespace_id = %s", [name, namespace]
            )


def drop_indexes(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'i' AND starts_with(relname, 'memoryvector_hnsw_')"
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP INDEX {name}")


class Migration(migrations.Migration):
    dependencies = [("memories", "0042_vector_index_name")]

    operations = [migrations.RunPython(build_indexes, drop_indexes)]
