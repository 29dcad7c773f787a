from django.db import migrations, models

ALONE = ("index", "measure", "recompute", "reembed", "reflect")
KINDS = ["import", "index", "measure", "recompute", "reembed", "reflect"]


class Migration(migrations.Migration):
    dependencies = [("memories", "0015_times")]

    operations = [
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
        # Back to where nothing is measured, what was measured has no place.
        migrations.RunSQL(migrations.RunSQL.noop, "DELETE FROM memories_job WHERE kind = 'measure'"),
    ]
