import django.utils.timezone
from django.db import migrations, models

import memories.db.ids
from memories.models.keys import NamespaceKey
from memories.models.references import ForeignKeyConstraint, Reference

ALONE = ("index", "measure", "recompute", "reembed", "reflect", "shadow")
KINDS = [
    "evaluate",
    "gate",
    "import",
    "index",
    "measure",
    "optimise",
    "pool",
    "recompute",
    "reembed",
    "reflect",
    "shadow",
    "trace",
]


class Migration(migrations.Migration):
    dependencies = [("memories", "0020_pooling")]

    operations = [
        migrations.CreateModel(
            name="Shadow",
            fields=[
                ("namespace", NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("version_id", models.UUIDField()),
                ("version", Reference(cascade=False, related_name="shadows", to="memories.profileversion")),
                ("percent", models.PositiveSmallIntegerField(help_text="share of the traces that it answers")),
                ("since", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "seen",
                    models.UUIDField(help_text="last trace processed; empty: none yet", null=True),
                ),
                ("by", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "version_id"], name="shadow_version")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace",), name="shadow_once"),
                    ForeignKeyConstraint(
                        fields=("namespace",), name="shadow_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("percent__range", (1, 100))), name="shadow_percent_range"
                    ),
                    ForeignKeyConstraint(
                        fields=("namespace", "version_id"),
                        name="shadow_version_fk",
                        to="memories.profileversion",
                        to_fields=("namespace", "id"),
                        cascade=False,
                    ),
                ],
            },
        ),
        migrations.RemoveConstraint(model_name="job", name="job_one_unfinished"),
        migrations.RemoveConstraint(model_name="job", name="job_kind_known"),
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(choices=[(kind, kind.capitalize()) for kind in KINDS], max_length=15),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind__in", ALONE), ("state__in", ("queued", "running"))),
                fields=("namespace", "kind"),
                name="job_one_unfinished",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(condition=models.Q(("kind__in", KINDS)), name="job_kind_known"),
        ),
        # Back to where nothing is checked before it is published, such work has no place.
        migrations.RunSQL(
            migrations.RunSQL.noop, "DELETE FROM memories_job WHERE kind IN ('evaluate', 'gate', 'shadow')"
        ),
    ]
