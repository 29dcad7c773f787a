from django.db import migrations

FILL = """
    INSERT INTO memories_predicateposting (namespace_id, term, memory_id, level)
    SELECT m.namespace_id, w.lexeme, m.id, m.level
    FROM memories_memory m JOIN memories_namespace n ON n.id = m.namespace_id,
        unnest(to_tsvector(n.text_config::regconfig, m.predicate)) w
    WHERE m.status = 'active' AND m.predicate <> ''
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0033_predicate_postings")]

    operations = [migrations.RunSQL(FILL, "DELETE FROM memories_predicateposting")]
