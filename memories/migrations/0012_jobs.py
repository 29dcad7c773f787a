import django.utils.timezone
from django.db import migrations, models

import memories.db.ids
import memories.models.keys
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [("memories", "0011_traces")]

    operations = [
        migrations.CreateModel(
            name="Job",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("extract", "Extract"),
                            ("import", "Import"),
                            ("index", "Index"),
                            ("recompute", "Recompute"),
                            ("reembed", "Reembed"),
                            ("reflect", "Reflect"),
                        ],
                        max_length=15,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("params", models.JSONField(default=dict)),
                ("step", models.CharField(blank=True, help_text="current step", max_length=50)),
                ("done", models.PositiveIntegerField(default=0, help_text="units of the step that are done")),
                ("total", models.PositiveIntegerField(help_text="units in all; empty: not known yet", null=True)),
                ("result", models.JSONField(default=dict, help_text="result of each step, by its name")),
                ("error", models.TextField(blank=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                (
                    "run",
                    models.UUIDField(
                        help_text="id of the current attempt; an earlier one must not write any more", null=True
                    ),
                ),
                ("by", models.CharField(blank=True, help_text="the user, API key or command", max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(null=True)),
                ("moved_at", models.DateTimeField(help_text="time of the last progress update", null=True)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "-created_at", "id"], name="job_recent")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("kind__in", ["index", "recompute", "reembed", "reflect"]),
                            ("state__in", ["queued", "running"]),
                        ),
                        fields=("namespace", "kind"),
                        name="job_one_unfinished",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ["extract", "import", "index", "recompute", "reembed", "reflect"])
                        ),
                        name="job_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["queued", "running", "done", "failed"])),
                        name="job_state_known",
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="job_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
    ]
