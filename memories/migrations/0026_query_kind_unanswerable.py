from django.db import migrations, models

NAME = "judgedquery_kind_known"


class Migration(migrations.Migration):
    """Free the kind of a judged query from its old values; 0027 renames them, 0028 checks the new ones."""

    dependencies = [("memories", "0025_packed_answers")]

    operations = [
        migrations.RemoveConstraint(model_name="judgedquery", name=NAME),
        migrations.AlterField(
            model_name="judgedquery",
            name="kind",
            field=models.CharField(
                choices=[("answerable", "Answerable"), ("unanswerable", "Unanswerable")],
                default="answerable",
                max_length=15,
            ),
        ),
        migrations.AlterField(
            model_name="judgedquery",
            name="overruled",
            field=models.BooleanField(
                default=False, help_text="imported as unanswerable, but a memory was graded relevant"
            ),
        ),
    ]
