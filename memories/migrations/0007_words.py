import django.db.models.deletion
from django.db import migrations, models

import memories.models.keys
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0006_vectors"),
    ]

    operations = [
        migrations.CreateModel(
            name="NamespaceStatistics",
            fields=[
                (
                    "namespace",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="statistics",
                        serialize=False,
                        to="memories.namespace",
                    ),
                ),
                ("documents", models.PositiveIntegerField(default=0)),
                ("total_length", models.PositiveBigIntegerField(default=0)),
                (
                    "writes",
                    models.BigIntegerField(default=0, help_text="number of writes; versions the caches of a process"),
                ),
                (
                    "epoch",
                    models.IntegerField(
                        default=0, help_text="counts what changes all vectors at once: an embedder, a restore"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "namespace statistics",
                "constraints": [
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="namespacestatistics_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TermStatistic",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "term", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("term", models.TextField()),
                ("documents", models.PositiveIntegerField()),
            ],
            options={
                "abstract": False,
                "constraints": [
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="termstatistic_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Posting",
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
                ("memory", memories.models.references.Reference(related_name="postings", to="memories.memory")),
                ("frequency", models.PositiveIntegerField()),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "memory_id"], name="posting_memory")],
                "constraints": [
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="posting_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",), name="posting_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                ],
            },
        ),
    ]
