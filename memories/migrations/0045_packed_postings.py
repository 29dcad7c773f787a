from django.db import migrations, models

import memories.models.keys
import memories.models.references

LEVELS = [("session", "Session"), ("turn", "Turn"), ("fact", "Fact"), ("summary", "Summary")]
COVERING_DOCUMENT = """
    ALTER TABLE memories_document DROP CONSTRAINT memories_document_pkey,
    ADD PRIMARY KEY (namespace_id, number) INCLUDE (memory_id)
"""
PLAIN_DOCUMENT = """
    ALTER TABLE memories_document DROP CONSTRAINT memories_document_pkey, ADD PRIMARY KEY (namespace_id, number)
"""
NUMBER_DOCUMENTS = """
    INSERT INTO memories_document (namespace_id, number, memory_id)
    SELECT namespace_id, row_number() OVER (PARTITION BY namespace_id ORDER BY memory_id), memory_id
    FROM (SELECT DISTINCT namespace_id, memory_id FROM memories_posting) AS indexed
"""
NUMBER_POSTINGS = """
    UPDATE memories_posting p SET number = d.number FROM memories_document d
    WHERE d.namespace_id = p.namespace_id AND d.memory_id = p.memory_id
"""
LAST_DOCUMENTS = """
    UPDATE memories_namespacestatistics s SET last_document = d.last
    FROM (SELECT namespace_id, max(number) AS last FROM memories_document GROUP BY namespace_id) d
    WHERE d.namespace_id = s.namespace_id
"""
# Back to one row per posting: blocks are unpacked first.
UNPACK = """
    INSERT INTO memories_posting (namespace_id, term, memory_id, number, frequency, length, level)
    SELECT block.namespace_id, block.term, d.memory_id, d.number,
        ('x' || substr(block.hex, at * 20 + 9, 4))::bit(16)::int,
        ('x' || substr(block.hex, at * 20 + 13, 8))::bit(32)::int, block.level
    FROM (
        SELECT *, encode(packed, 'hex') AS hex, octet_length(packed) / 10 AS count
        FROM memories_postingblock OFFSET 0
    ) AS block
    CROSS JOIN LATERAL generate_series(0, count - 1) AS at
    JOIN memories_document d ON d.namespace_id = block.namespace_id
        AND d.number = ('x' || substr(block.hex, at * 20 + 1, 8))::bit(32)::int
"""
COVERING_POSTING = """
    ALTER TABLE memories_posting DROP CONSTRAINT memories_posting_pkey,
    ADD PRIMARY KEY (namespace_id, term, memory_id) INCLUDE (number, frequency, length, level)
"""
FORMER_POSTING = """
    ALTER TABLE memories_posting DROP CONSTRAINT memories_posting_pkey,
    ADD PRIMARY KEY (namespace_id, term, memory_id) INCLUDE (frequency, length, level)
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0044_drop_shared_indexes")]

    operations = [
        migrations.AddField(
            model_name="namespacestatistics",
            name="last_document",
            field=models.PositiveIntegerField(default=0, help_text="the highest document number given so far"),
        ),
        migrations.CreateModel(
            name="Document",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("memory_id", models.UUIDField()),
                ("memory", memories.models.references.Reference(related_name="documents", to="memories.memory")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=["namespace", "memory_id"], name="document_of_memory"),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="document_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                ],
            },
        ),
        migrations.RunSQL(COVERING_DOCUMENT, PLAIN_DOCUMENT),
        migrations.CreateModel(
            name="PostingBlock",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id",
                        "term",
                        "level",
                        "first",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("term", models.TextField()),
                ("level", models.CharField(choices=LEVELS, max_length=10)),
                ("first", models.PositiveIntegerField(help_text="the lowest document number at the time of packing")),
                ("last", models.PositiveIntegerField(help_text="the highest document number")),
                ("packed", models.BinaryField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("level__in", ["session", "turn", "fact", "summary"])),
                        name="postingblock_level_known",
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="postingblock_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="posting",
            name="number",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.RunSQL(NUMBER_DOCUMENTS, UNPACK),
        migrations.RunSQL(NUMBER_POSTINGS, migrations.RunSQL.noop),
        migrations.RunSQL(LAST_DOCUMENTS, migrations.RunSQL.noop),
        migrations.RunSQL(COVERING_POSTING, FORMER_POSTING),
        migrations.RemoveIndex(model_name="posting", name="posting_memory"),
        migrations.AddIndex(
            model_name="posting",
            index=models.Index(fields=["namespace", "memory_id"], name="posting_memory"),
        ),
    ]
