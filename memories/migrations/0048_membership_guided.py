from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0047_uploads")]

    operations = [
        migrations.AddField(
            "membership",
            "guided",
            models.BooleanField(default=True, help_text="whether the Overview shows the first steps"),
        ),
    ]
