from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0027_glossary_words")]

    operations = [
        migrations.AddConstraint(
            model_name="judgedquery",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["answerable", "unanswerable"])), name="judgedquery_kind_known"
            ),
        ),
    ]
