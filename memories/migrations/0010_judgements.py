import django.utils.timezone
from django.db import migrations, models

import memories.db.ids
import memories.models.keys
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0009_tuning"),
    ]

    operations = [
        migrations.CreateModel(
            name="JudgementSet",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("name", models.CharField(max_length=100)),
                ("note", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "name"), name="judgementset_name_once"),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="judgementset_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="JudgedQuery",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("judgement_set_id", models.UUIDField()),
                (
                    "judgement_set",
                    memories.models.references.Reference(related_name="queries", to="memories.judgementset"),
                ),
                ("text", models.TextField()),
                ("category", models.CharField(blank=True, max_length=50)),
                (
                    "kind",
                    models.CharField(
                        choices=[("answerable", "Answerable"), ("never_stored", "Never Stored")],
                        default="answerable",
                        max_length=15,
                    ),
                ),
                (
                    "part",
                    models.CharField(choices=[("tune", "Tune"), ("holdout", "Holdout")], default="tune", max_length=10),
                ),
                ("user", models.CharField(blank=True, max_length=200)),
                ("as_of", models.DateTimeField(help_text="empty: the namespace's now", null=True)),
            ],
            options={
                "verbose_name_plural": "judged queries",
                "indexes": [
                    models.Index(fields=["namespace", "judgement_set_id", "part", "id"], name="judgedquery_set")
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["answerable", "never_stored"])), name="judgedquery_kind_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("part__in", ["tune", "holdout"])), name="judgedquery_part_known"
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "judgement_set_id"),
                        name="judgedquery_judgement_set_fk",
                        to="memories.judgementset",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="judgedquery_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Judgement",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("query_id", models.UUIDField()),
                ("query", memories.models.references.Reference(related_name="judgements", to="memories.judgedquery")),
                ("memory_id", models.UUIDField()),
                ("memory", memories.models.references.Reference(related_name="judgements", to="memories.memory")),
                ("grade", models.PositiveSmallIntegerField()),
                ("judged_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("judged_by", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "memory_id"], name="judgement_memory")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "query_id", "memory_id"), name="judgement_once"),
                    models.CheckConstraint(condition=models.Q(("grade__range", (0, 3))), name="judgement_grade_range"),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "query_id"),
                        name="judgement_query_fk",
                        to="memories.judgedquery",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="judgement_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",), name="judgement_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Evaluation",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("judgement_set_id", models.UUIDField()),
                (
                    "judgement_set",
                    memories.models.references.Reference(related_name="evaluations", to="memories.judgementset"),
                ),
                ("profile_version_id", models.UUIDField(null=True)),
                (
                    "profile_version",
                    memories.models.references.Reference(related_name="evaluations", to="memories.profileversion"),
                ),
                ("system", models.CharField(max_length=50)),
                ("params", models.JSONField(default=dict)),
                (
                    "part",
                    models.CharField(
                        blank=True,
                        choices=[("tune", "Tune"), ("holdout", "Holdout")],
                        help_text="empty: all queries",
                        max_length=10,
                    ),
                ),
                ("metrics", models.JSONField(default=dict)),
                ("per_query", models.JSONField(default=dict, help_text="each query's metrics, by its id")),
                ("took_ms", models.FloatField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("created_by", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["namespace", "judgement_set_id", "-created_at"], name="evaluation_recent"),
                    models.Index(fields=["namespace", "profile_version_id"], name="evaluation_profile"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("took_ms__range", (0, 1000000000000.0))), name="evaluation_took_ms_range"
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "judgement_set_id"),
                        name="evaluation_judgement_set_fk",
                        to="memories.judgementset",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "profile_version_id"),
                        name="evaluation_profile_version_fk",
                        to="memories.profileversion",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="evaluation_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
    ]
