from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memories", "0040_fill_name_keys")]

    operations = [migrations.RemoveField("namespacestatistics", "names_version")]
