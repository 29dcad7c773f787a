import django.contrib.postgres.indexes
import django.db.models.functions.comparison
import pgvector.django.halfvec
import pgvector.django.indexes
import pgvector.django.vector
from django.db import migrations, models

import memories.db.ids
import memories.models.keys
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0005_graph"),
    ]

    operations = [
        migrations.CreateModel(
            name="MemoryVector",
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
                ("memory", memories.models.references.Reference(related_name="vectors", to="memories.memory")),
                (
                    "route",
                    models.CharField(
                        choices=[
                            ("vec_full", "Full"),
                            ("vec_user", "User"),
                            ("vec_asst", "Assistant"),
                            ("vec_next_user", "Next User"),
                            ("vec_context", "Context"),
                            ("facet_personal_info", "Personal Info"),
                            ("facet_preferences", "Preferences"),
                            ("facet_events", "Events"),
                        ],
                        default="vec_full",
                        max_length=20,
                    ),
                ),
                ("embedder", models.CharField(max_length=100)),
                ("vector", pgvector.django.vector.VectorField()),
                (
                    "level",
                    models.CharField(
                        choices=[("session", "Session"), ("turn", "Turn"), ("fact", "Fact"), ("summary", "Summary")],
                        default="fact",
                        max_length=10,
                    ),
                ),
                ("active", models.BooleanField(default=True)),
                (
                    "written",
                    models.BigIntegerField(default=0, help_text="number of the write that made it searchable"),
                ),
                (
                    "indexed",
                    models.BooleanField(
                        default=False, help_text="whether it is in the HNSW index; otherwise a scan finds it"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["namespace", "embedder", "route", "written"], name="memoryvector_scan"),
                    models.Index(
                        condition=models.Q(("indexed", False)),
                        fields=["namespace", "embedder", "route"],
                        name="memoryvector_not_indexed",
                    ),
                    pgvector.django.indexes.HnswIndex(
                        django.contrib.postgres.indexes.OpClass(
                            django.db.models.functions.comparison.Cast(
                                "vector", pgvector.django.halfvec.HalfVectorField(dimensions=384)
                            ),
                            name="halfvec_cosine_ops",
                        ),
                        condition=models.Q(("embedder", "all-MiniLM-L6-v2"), ("indexed", True)),
                        name="memoryvector_all_minilm_l6_v2",
                    ),
                    pgvector.django.indexes.HnswIndex(
                        django.contrib.postgres.indexes.OpClass(
                            django.db.models.functions.comparison.Cast(
                                "vector", pgvector.django.halfvec.HalfVectorField(dimensions=256)
                            ),
                            name="halfvec_cosine_ops",
                        ),
                        condition=models.Q(("embedder", "wordllama-256"), ("indexed", True)),
                        name="memoryvector_wordllama_256",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("namespace", "memory_id", "route", "embedder"), name="memoryvector_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "route__in",
                                [
                                    "vec_full",
                                    "vec_user",
                                    "vec_asst",
                                    "vec_next_user",
                                    "vec_context",
                                    "facet_personal_info",
                                    "facet_preferences",
                                    "facet_events",
                                ],
                            )
                        ),
                        name="memoryvector_route_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("level__in", ["session", "turn", "fact", "summary"])),
                        name="memoryvector_level_known",
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="memoryvector_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="memoryvector_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TokenStates",
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
                ("memory", memories.models.references.Reference(related_name="token_states", to="memories.memory")),
                ("embedder", models.CharField(max_length=100)),
                ("packed", models.BinaryField()),
                ("tokens", models.PositiveIntegerField()),
                ("scale", models.FloatField()),
            ],
            options={
                "verbose_name_plural": "token states",
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "memory_id", "embedder"), name="tokenstates_once"),
                    models.CheckConstraint(
                        condition=models.Q(("scale__range", (0, 1000000.0))), name="tokenstates_scale_range"
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="tokenstates_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="tokenstates_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
    ]
