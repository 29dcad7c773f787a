from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0035_protected_by_policy")]

    operations = [
        migrations.AddField(
            "annotation",
            "domain",
            models.CharField(
                max_length=50,
                blank=True,
                default="",
                help_text="what the conversation was about; splits the calibration",
            ),
        )
    ]
