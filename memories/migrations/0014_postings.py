from django.db import migrations, models

FILL = """
    UPDATE memories_posting p SET length = m.length, level = m.level
    FROM memories_memory m WHERE m.namespace_id = p.namespace_id AND m.id = p.memory_id
"""
COVERING = """
    ALTER TABLE memories_posting DROP CONSTRAINT memories_posting_pkey,
    ADD PRIMARY KEY (namespace_id, term, memory_id) INCLUDE (frequency, length, level)
"""
PLAIN = """
    ALTER TABLE memories_posting DROP CONSTRAINT memories_posting_pkey,
    ADD PRIMARY KEY (namespace_id, term, memory_id)
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0013_times_and_speakers")]

    operations = [
        migrations.AddField(
            model_name="posting",
            name="length",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="posting",
            name="level",
            field=models.CharField(
                choices=[("session", "Session"), ("turn", "Turn"), ("fact", "Fact"), ("summary", "Summary")],
                default="fact",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="posting",
            constraint=models.CheckConstraint(
                condition=models.Q(("level__in", ["session", "turn", "fact", "summary"])), name="posting_level_known"
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(COVERING, PLAIN),
        migrations.RemoveIndex(model_name="posting", name="posting_memory"),
        migrations.AddIndex(
            model_name="posting",
            index=models.Index(
                fields=["namespace", "memory_id"], include=["term", "frequency", "length"], name="posting_memory"
            ),
        ),
    ]
