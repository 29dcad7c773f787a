from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0028_query_kind_known")]

    operations = [
        migrations.AddField(
            model_name="namespacestatistics",
            name="names_version",
            field=models.BigIntegerField(
                default=0,
                help_text="incremented with every entity or alias; the cached entity registry is valid for one",
            ),
        ),
    ]
