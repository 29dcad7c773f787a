import django.contrib.postgres.fields
import django.utils.timezone
from django.db import migrations, models

import memories.db.ids
import memories.models.keys
import memories.models.partitions
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0010_judgements"),
    ]

    operations = [
        memories.models.partitions.CreatePartitionedModel(
            name="Trace",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("as_of", models.DateTimeField(help_text="the time that ages were measured from")),
                ("query", models.TextField()),
                ("request", models.JSONField(default=dict)),
                ("profile_version_id", models.UUIDField(null=True)),
                (
                    "profile_version",
                    memories.models.references.Reference(
                        cascade=False, related_name="traces", to="memories.profileversion"
                    ),
                ),
                ("system", models.CharField(max_length=50)),
                ("params", models.JSONField(default=dict)),
                ("plan", models.JSONField(default=dict)),
                ("layout", models.PositiveSmallIntegerField(default=1, help_text="version of the packing below")),
                (
                    "candidates",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), help_text="memory ids", size=None
                    ),
                ),
                ("signals", models.BinaryField(help_text="the arrays scored, in the candidates' order")),
                ("answer", models.JSONField(default=dict)),
                ("abstained", models.BooleanField(default=False)),
                ("best_score", models.FloatField(null=True)),
                ("took_ms", models.JSONField(default=dict, help_text="by step")),
                ("api_key_id", models.UUIDField(null=True)),
                (
                    "api_key",
                    memories.models.references.Reference(cascade=False, related_name="traces", to="memories.apikey"),
                ),
                (
                    "shadow",
                    models.BooleanField(default=False, help_text="answered by the shadow, never returned to a caller"),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("profile_version_id__isnull", False)),
                        fields=["namespace", "profile_version_id"],
                        name="trace_profile",
                    ),
                    models.Index(
                        condition=models.Q(("api_key_id__isnull", False)),
                        fields=["namespace", "api_key_id"],
                        name="trace_api_key",
                    ),
                ],
                "constraints": [
                    memories.models.references.ForeignKeyConstraint(
                        cascade=False,
                        fields=("namespace", "profile_version_id"),
                        name="trace_profile_version_fk",
                        to="memories.profileversion",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        cascade=False,
                        fields=("namespace", "api_key_id"),
                        name="trace_api_key_fk",
                        to="memories.apikey",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",), name="trace_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                ],
            },
        ),
    ]
