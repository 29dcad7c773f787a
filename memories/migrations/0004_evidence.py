import django.utils.timezone
from django.db import migrations, models

import memories.db.ids
import memories.models.keys
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0003_memories"),
    ]

    operations = [
        migrations.CreateModel(
            name="MemorySource",
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
                ("memory", memories.models.references.Reference(related_name="sources", to="memories.memory")),
                ("session_id", models.UUIDField(null=True)),
                ("session", memories.models.references.Reference(related_name="sources", to="memories.session")),
                ("turn_id", models.UUIDField(null=True)),
                ("turn", memories.models.references.Reference(related_name="sources", to="memories.turn")),
                (
                    "source",
                    models.CharField(
                        blank=True,
                        help_text="such as a document or an agent, if it is neither turn nor session",
                        max_length=200,
                    ),
                ),
                (
                    "level",
                    models.CharField(
                        choices=[
                            ("direct", "Direct"),
                            ("confirmation", "Confirmation"),
                            ("strong_inference", "Strong Inference"),
                            ("weak_inference", "Weak Inference"),
                            ("speculation", "Speculation"),
                        ],
                        max_length=20,
                    ),
                ),
                ("strength", models.FloatField()),
                ("observed_at", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["namespace", "memory_id", "observed_at"], name="memorysource_memory"),
                    models.Index(fields=["namespace", "turn_id"], name="memorysource_turn"),
                    models.Index(fields=["namespace", "session_id"], name="memorysource_session"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("turn_id__isnull", False)),
                        fields=("namespace", "memory_id", "turn_id"),
                        name="memorysource_turn_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("turn_id", None)),
                        fields=("namespace", "memory_id", "session_id", "source"),
                        name="memorysource_session_or_source_once",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "level__in",
                                ["direct", "confirmation", "strong_inference", "weak_inference", "speculation"],
                            )
                        ),
                        name="memorysource_level_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("strength__range", (0, 1))), name="memorysource_strength_range"
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="memorysource_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "session_id"),
                        name="memorysource_session_fk",
                        to="memories.session",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "turn_id"),
                        name="memorysource_turn_fk",
                        to="memories.turn",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="memorysource_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScoreEvent",
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
                ("memory", memories.models.references.Reference(related_name="events", to="memories.memory")),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("cause", models.CharField(max_length=50)),
                ("before", models.JSONField(default=dict, help_text="the fields that changed")),
                ("after", models.JSONField(default=dict)),
                ("parts", models.JSONField(default=dict, help_text="explanation of the new numbers")),
                (
                    "other_id",
                    models.UUIDField(
                        help_text="the memory that caused it; no foreign key, since history outlives it", null=True
                    ),
                ),
                ("by", models.CharField(blank=True, help_text="the user or API key", max_length=200)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["namespace", "memory_id", "at", "id"], name="scoreevent_memory"),
                    models.Index(
                        condition=models.Q(("other_id__isnull", False)),
                        fields=["namespace", "other_id"],
                        name="scoreevent_other",
                    ),
                ],
                "constraints": [
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="scoreevent_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="scoreevent_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReviewItem",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("first_id", models.UUIDField()),
                ("first", memories.models.references.Reference(related_name="reviews", to="memories.memory")),
                ("second_id", models.UUIDField()),
                (
                    "second",
                    memories.models.references.Reference(related_name="reviews_as_second", to="memories.memory"),
                ),
                ("cosine", models.FloatField()),
                ("reason", models.TextField(blank=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("duplicate", "Duplicate"),
                            ("distinct", "Distinct"),
                            ("contradiction", "Contradiction"),
                        ],
                        default="pending",
                        max_length=15,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("decided_at", models.DateTimeField(null=True)),
                ("decided_by", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["namespace", "second_id"], name="reviewitem_second"),
                    models.Index(fields=["namespace", "state", "-created_at", "id"], name="reviewitem_recent"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "first_id", "second_id"), name="reviewitem_pair_once"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "duplicate", "distinct", "contradiction"])),
                        name="reviewitem_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("cosine__range", (-1, 1))), name="reviewitem_cosine_range"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("first_id__lt", models.F("second_id"))),
                        name="reviewitem_first_id_before",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state", "pending"), ("decided_at__isnull", False), _connector="XOR"),
                        name="reviewitem_verdict_dated",
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "first_id"),
                        name="reviewitem_first_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "second_id"),
                        name="reviewitem_second_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="reviewitem_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
    ]
