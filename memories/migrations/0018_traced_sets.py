import django.contrib.postgres.fields
import django.utils.timezone
from django.db import migrations, models

import memories.db.ids
from memories.models.keys import NamespaceKey
from memories.models.references import ForeignKeyConstraint, Reference

KINDS = ["import", "index", "measure", "optimise", "recompute", "reembed", "reflect", "trace"]


class Migration(migrations.Migration):
    dependencies = [("memories", "0017_lighter_writes")]

    operations = [
        migrations.CreateModel(
            name="TracedSet",
            fields=[
                ("namespace", NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("judgement_set_id", models.UUIDField()),
                ("judgement_set", Reference(related_name="traced", to="memories.judgementset")),
                ("system", models.CharField(max_length=50)),
                (
                    "params",
                    models.JSONField(default=dict, help_text="given parameters that affect candidates"),
                ),
                (
                    "writes",
                    models.BigIntegerField(
                        default=0, help_text="write counter of the namespace at the start; outdated if it has moved on"
                    ),
                ),
                ("begun_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ready_at", models.DateTimeField(help_text="empty: not all queries are traced yet", null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["namespace", "judgement_set_id", "system", "-begun_at"], name="tracedset_recent"
                    )
                ],
                "constraints": [
                    ForeignKeyConstraint(
                        fields=("namespace", "judgement_set_id"),
                        name="tracedset_judgement_set_fk",
                        to="memories.judgementset",
                        to_fields=("namespace", "id"),
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TracedQuery",
            fields=[
                ("namespace", NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("traced_set_id", models.UUIDField()),
                ("traced_set", Reference(related_name="queries", to="memories.tracedset")),
                ("query_id", models.UUIDField()),
                ("query", Reference(related_name="traced", to="memories.judgedquery")),
                ("plan", models.JSONField(default=dict)),
                (
                    "candidates",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), help_text="memory ids", size=None
                    ),
                ),
                ("signals", models.BinaryField(help_text="the arrays scored, in the candidates' order")),
                ("late", models.JSONField(blank=True, default=list, help_text="retrievers that did not answer")),
            ],
            options={
                "verbose_name_plural": "traced queries",
                "indexes": [models.Index(fields=["namespace", "query_id"], name="tracedquery_query")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "traced_set_id", "query_id"), name="tracedquery_once"),
                    ForeignKeyConstraint(
                        fields=("namespace", "traced_set_id"),
                        name="tracedquery_traced_set_fk",
                        to="memories.tracedset",
                        to_fields=("namespace", "id"),
                    ),
                    ForeignKeyConstraint(
                        fields=("namespace", "query_id"),
                        name="tracedquery_query_fk",
                        to="memories.judgedquery",
                        to_fields=("namespace", "id"),
                    ),
                ],
            },
        ),
        migrations.RemoveConstraint(model_name="job", name="job_kind_known"),
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(choices=[(kind, kind.capitalize()) for kind in KINDS], max_length=15),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(condition=models.Q(("kind__in", KINDS)), name="job_kind_known"),
        ),
        # Back to where nothing is traced or optimised, such work has no place.
        migrations.RunSQL(migrations.RunSQL.noop, "DELETE FROM memories_job WHERE kind IN ('optimise', 'trace')"),
    ]
