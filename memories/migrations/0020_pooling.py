from django.db import migrations, models

import memories.db.ids
import memories.models.keys
import memories.models.references

KINDS = ["import", "index", "measure", "optimise", "pool", "recompute", "reembed", "reflect", "trace"]


class Migration(migrations.Migration):
    dependencies = [("memories", "0019_annotations")]

    operations = [
        migrations.CreateModel(
            name="PooledMemory",
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
                ("query", memories.models.references.Reference(related_name="pooled", to="memories.judgedquery")),
                ("memory_id", models.UUIDField()),
                ("memory", memories.models.references.Reference(related_name="pooled", to="memories.memory")),
                (
                    "ranks",
                    models.JSONField(default=dict, help_text="rank by configuration, counted from 1"),
                ),
                ("found_by", models.PositiveSmallIntegerField(help_text="number of configurations that return it")),
                ("best", models.PositiveSmallIntegerField(help_text="best rank")),
            ],
            options={
                "verbose_name_plural": "pooled memories",
                "indexes": [models.Index(fields=["namespace", "memory_id"], name="pooledmemory_memory")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "query_id", "memory_id"), name="pooledmemory_once"),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "query_id"),
                        name="pooledmemory_query_fk",
                        to="memories.judgedquery",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="pooledmemory_memory_fk",
                        to="memories.memory",
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
        # Back to where nothing is pooled, what was pooled has no place.
        migrations.RunSQL(migrations.RunSQL.noop, "DELETE FROM memories_job WHERE kind = 'pool'"),
    ]
