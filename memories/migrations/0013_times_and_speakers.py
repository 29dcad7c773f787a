from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0012_jobs")]

    operations = [
        migrations.AddField(
            model_name="entity",
            name="registered",
            field=models.BooleanField(
                default=True, help_text="created explicitly; otherwise deleted with the last memory that mentions it"
            ),
        ),
        migrations.AlterField(
            model_name="namespacestatistics",
            name="epoch",
            field=models.IntegerField(
                default=0,
                help_text="incremented by what invalidates every cache: another embedder, a restore, an erasure",
            ),
        ),
        migrations.RemoveConstraint(model_name="job", name="job_kind_known"),
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[
                    ("import", "Import"),
                    ("index", "Index"),
                    ("recompute", "Recompute"),
                    ("reembed", "Reembed"),
                    ("reflect", "Reflect"),
                ],
                max_length=15,
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["import", "index", "recompute", "reembed", "reflect"])),
                name="job_kind_known",
            ),
        ),
        migrations.AddIndex(
            model_name="scoreevent",
            index=models.Index(
                condition=models.Q(("after__has_key", "status")),
                fields=["namespace", "at"],
                include=("memory_id",),
                name="scoreevent_status",
            ),
        ),
        migrations.AddIndex(
            model_name="turn", index=models.Index(fields=["namespace", "speaker"], name="turn_speaker")
        ),
    ]
