from django.db import migrations, models
from django.db.models.functions import Coalesce

BEGINS = Coalesce("event_at", "valid_from", "happened_at", "created_at")
ENDS = models.Case(
    models.When(event_at__isnull=False, then=Coalesce("event_until", "event_at")),
    models.When(valid_from__isnull=False, then=Coalesce("valid_until", "valid_from")),
    default=BEGINS,
)


class Migration(migrations.Migration):
    dependencies = [("memories", "0014_postings")]

    operations = [
        migrations.RemoveIndex(model_name="memory", name="memory_session"),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("session_id__isnull", False)),
                fields=["namespace", "session_id", "level", "happened_at", "id"],
                name="memory_session",
            ),
        ),
        migrations.AddIndex(
            model_name="memory", index=models.Index(models.F("namespace"), BEGINS, name="memory_begins")
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                models.F("namespace"),
                ENDS,
                condition=models.Q(("event_until__isnull", False), ("valid_until__isnull", False), _connector="OR"),
                name="memory_lasts",
            ),
        ),
    ]
