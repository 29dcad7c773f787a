from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0021_profiles")]

    operations = [
        migrations.AddField(
            model_name="judgedquery",
            name="overruled",
            field=models.BooleanField(
                default=False, help_text="said to be never stored, and then a memory answered it"
            ),
        ),
        migrations.AddField(
            model_name="publication",
            name="rolled_back",
            field=models.BooleanField(default=False, help_text="whether it undoes the publication before it"),
        ),
    ]
