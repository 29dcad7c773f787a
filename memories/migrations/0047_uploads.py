import django.utils.timezone
from django.db import migrations, models

import memories.db.ids
from memories.models.keys import NamespaceKey
from memories.models.packed_json import PackedJSONField
from memories.models.references import ForeignKeyConstraint, Reference


class Migration(migrations.Migration):
    dependencies = [("memories", "0046_latest_of_subject_and_speaker")]

    operations = [
        migrations.CreateModel(
            name="Upload",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("name", models.CharField(max_length=200)),
                (
                    "format",
                    models.CharField(help_text="a known format, or table: then its columns are mapped", max_length=20),
                ),
                ("rows", PackedJSONField(default=list, help_text="request bodies, or the rows of a table")),
                ("count", models.PositiveIntegerField(help_text="number of rows")),
                ("columns", models.JSONField(default=dict, help_text="of a table: field of a memory → column")),
                ("job_id", models.UUIDField(null=True)),
                ("by", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("job", Reference(related_name="uploads", to="memories.job")),
                ("namespace", NamespaceKey()),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "job_id"], name="upload_job")],
                "constraints": [
                    ForeignKeyConstraint(
                        fields=("namespace", "job_id"),
                        name="upload_job_fk",
                        to="memories.job",
                        to_fields=("namespace", "id"),
                    ),
                    ForeignKeyConstraint(
                        fields=("namespace",), name="upload_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                ],
            },
        ),
    ]
