from django.db import migrations, models

import memories.models.keys
import memories.models.references

COVERING = """
    ALTER TABLE memories_predicateposting DROP CONSTRAINT memories_predicateposting_pkey,
    ADD PRIMARY KEY (namespace_id, term, memory_id) INCLUDE (level)
"""
PLAIN = """
    ALTER TABLE memories_predicateposting DROP CONSTRAINT memories_predicateposting_pkey,
    ADD PRIMARY KEY (namespace_id, term, memory_id)
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0032_source_names")]

    operations = [
        migrations.CreateModel(
            name="PredicatePosting",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id",
                        "term",
                        "memory_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("term", models.TextField()),
                ("memory_id", models.UUIDField()),
                (
                    "memory",
                    memories.models.references.Reference(related_name="predicate_postings", to="memories.memory"),
                ),
                (
                    "level",
                    models.CharField(
                        choices=[("session", "Session"), ("turn", "Turn"), ("fact", "Fact"), ("summary", "Summary")],
                        default="fact",
                        max_length=10,
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "memory_id"], name="predicateposting_memory")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("level__in", ["session", "turn", "fact", "summary"])),
                        name="predicateposting_level_known",
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="predicateposting_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                ],
            },
        ),
        migrations.RunSQL(COVERING, PLAIN),
    ]
