"""Judged queries that memorysync traced before it followed memory edges: traced again when they are needed."""

from django.db import migrations

QUERIES = """
    DELETE FROM memories_tracedquery AS query USING memories_tracedset AS traced
    WHERE traced.system = 'memorysync' AND query.namespace_id = traced.namespace_id AND query.traced_set_id = traced.id
"""
SETS = "DELETE FROM memories_tracedset WHERE system = 'memorysync'"


class Migration(migrations.Migration):
    dependencies = [("memories", "0037_search_effort")]

    operations = [migrations.RunSQL(statement, migrations.RunSQL.noop) for statement in (QUERIES, SETS)]
