from django.db import migrations
from django.db.models import Index, Q


class Migration(migrations.Migration):
    dependencies = [("memories", "0045_packed_postings")]

    operations = [
        migrations.RemoveIndex("turn", "turn_speaker"),
        migrations.AddIndex(
            "memory",
            Index(
                fields=["namespace", "subject_id", "id"],
                condition=Q(subject_id__isnull=False),
                name="memory_latest_of_subject",
            ),
        ),
        migrations.AddIndex("turn", Index(fields=["namespace", "speaker", "id"], name="turn_latest_of_speaker")),
    ]
