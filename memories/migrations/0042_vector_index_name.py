from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0041_drop_names_version")]

    operations = [
        migrations.AddField(
            model_name="namespacestatistics",
            name="vector_index",
            field=models.CharField(
                blank=True,
                default="",
                help_text="the HNSW index of the namespace's vectors; empty: they are scanned",
                max_length=63,
            ),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name="memoryvector",
            name="indexed",
            field=models.BooleanField(
                default=False,
                help_text="whether it is in the namespace's HNSW index; otherwise a scan finds it",
            ),
        ),
    ]
