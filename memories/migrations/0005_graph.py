import django.utils.timezone
from django.db import migrations, models

import memories.db.ids
import memories.models.keys
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0004_evidence"),
    ]

    operations = [
        migrations.CreateModel(
            name="Mention",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("memory_id", models.UUIDField()),
                ("memory", memories.models.references.Reference(related_name="mentions", to="memories.memory")),
                ("entity_id", models.UUIDField()),
                ("entity", memories.models.references.Reference(related_name="mentions", to="memories.entity")),
                ("confidence", models.FloatField(default=1.0)),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "entity_id", "memory_id"], name="mention_entity")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "memory_id", "entity_id"), name="mention_once"),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__range", (0, 1))), name="mention_confidence_range"
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="mention_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "entity_id"),
                        name="mention_entity_fk",
                        to="memories.entity",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",), name="mention_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EntityEdge",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("source_id", models.UUIDField()),
                ("source", memories.models.references.Reference(related_name="edges_out", to="memories.entity")),
                ("predicate", models.CharField(max_length=200)),
                ("target_id", models.UUIDField()),
                ("target", memories.models.references.Reference(related_name="edges_in", to="memories.entity")),
                ("confidence", models.FloatField(default=1.0)),
                ("memory_id", models.UUIDField(null=True)),
                ("memory", memories.models.references.Reference(related_name="entity_edges", to="memories.memory")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["namespace", "target_id"], name="entityedge_target"),
                    models.Index(fields=["namespace", "memory_id"], name="entityedge_memory"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("namespace", "source_id", "predicate", "target_id", "memory_id"),
                        name="entityedge_once",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__range", (0, 1))), name="entityedge_confidence_range"
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "source_id"),
                        name="entityedge_source_fk",
                        to="memories.entity",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "target_id"),
                        name="entityedge_target_fk",
                        to="memories.entity",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="entityedge_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="entityedge_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryEdge",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("source_id", models.UUIDField()),
                ("source", memories.models.references.Reference(related_name="edges_out", to="memories.memory")),
                ("target_id", models.UUIDField()),
                ("target", memories.models.references.Reference(related_name="edges_in", to="memories.memory")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("supports", "Supports"),
                            ("extends", "Extends"),
                            ("continuation", "Continuation"),
                            ("detail_of", "Detail Of"),
                            ("summary_of", "Summary Of"),
                            ("similar", "Similar"),
                            ("references", "References"),
                            ("derived_from", "Derived From"),
                            ("caused_by", "Caused By"),
                            ("contradiction", "Contradiction"),
                        ],
                        max_length=15,
                    ),
                ),
                ("weight", models.FloatField(default=1.0)),
                ("cosine", models.FloatField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "target_id"], name="memoryedge_target")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("namespace", "source_id", "kind", "target_id"), name="memoryedge_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    "supports",
                                    "extends",
                                    "continuation",
                                    "detail_of",
                                    "summary_of",
                                    "similar",
                                    "references",
                                    "derived_from",
                                    "caused_by",
                                    "contradiction",
                                ],
                            )
                        ),
                        name="memoryedge_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("weight__range", (0, 1))), name="memoryedge_weight_range"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("cosine__range", (-1, 1))), name="memoryedge_cosine_range"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source_id", models.F("target_id")), _negated=True),
                        name="memoryedge_source_id_apart",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "contradiction"), _negated=True),
                            ("source_id__gt", models.F("target_id")),
                            _connector="OR",
                        ),
                        name="memoryedge_later_contradicts",
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "source_id"),
                        name="memoryedge_source_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "target_id"),
                        name="memoryedge_target_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="memoryedge_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
    ]
