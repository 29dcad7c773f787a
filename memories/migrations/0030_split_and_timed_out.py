from django.db import migrations, models


class Migration(migrations.Migration):
    """Columns take the API's names: `part` becomes `split`, `late` becomes `timed_out`."""

    dependencies = [("memories", "0029_names_version")]

    operations = [
        migrations.RemoveConstraint(model_name="judgedquery", name="judgedquery_part_known"),
        migrations.RemoveIndex(model_name="judgedquery", name="judgedquery_set"),
        migrations.RenameField(model_name="judgedquery", old_name="part", new_name="split"),
        migrations.RenameField(model_name="evaluation", old_name="part", new_name="split"),
        migrations.RenameField(model_name="tracedquery", old_name="late", new_name="timed_out"),
        migrations.AlterField(
            model_name="tracedquery",
            name="timed_out",
            field=models.JSONField(blank=True, default=list, help_text="retrievers that timed out or failed"),
        ),
        migrations.AddIndex(
            model_name="judgedquery",
            index=models.Index(fields=["namespace", "judgement_set_id", "split", "id"], name="judgedquery_set"),
        ),
        migrations.AddConstraint(
            model_name="judgedquery",
            constraint=models.CheckConstraint(
                condition=models.Q(("split__in", ["tune", "holdout"])), name="judgedquery_split_known"
            ),
        ),
    ]
