from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memories", "0043_index_per_namespace")]

    operations = [
        migrations.RemoveIndex("memoryvector", "memoryvector_all_minilm_l6_v2"),
        migrations.RemoveIndex("memoryvector", "memoryvector_wordllama_256"),
    ]
