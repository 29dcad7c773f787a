from django.contrib.postgres.indexes import HashIndex
from django.db import migrations, models
from django.db.models.functions import Coalesce

BEGINS = Coalesce("event_at", "valid_from", "happened_at", "created_at")
TOLD = models.Q(("type_uncertain", False), models.Q(("level__in", ("fact", "summary")), _negated=True), _connector="OR")
SETTLED = models.Q(TOLD, ("subject_fallback", None))
IN_WINDOW = ("id", "event_at", "valid_from", "happened_at", "created_at", "level", "status")


class Migration(migrations.Migration):
    dependencies = [("memories", "0023_settled")]

    operations = [
        *(
            migrations.AddIndex(
                model_name="memoryedge",
                index=models.Index(
                    condition=models.Q(("kind", "contradiction")),
                    fields=["namespace", f"{end}_id"],
                    name=f"dispute_{end}",
                ),
            )
            for end in ("source", "target")
        ),
        migrations.AddIndex(
            model_name="memoryvector",
            index=HashIndex(
                condition=models.Q(("route", "vec_full")), fields=["memory_id"], name="memoryvector_of_memory"
            ),
        ),
        migrations.RemoveIndex(model_name="memory", name="memory_begins"),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                models.F("namespace"), BEGINS, condition=SETTLED, include=IN_WINDOW, name="memory_begins"
            ),
        ),
        # The last one again: between indexes that look equally good Postgres takes the newest, and by this one a memory
        # is found by its id at once.
        migrations.RemoveIndex(model_name="memory", name="memory_settled"),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(condition=SETTLED, fields=["namespace", "id"], name="memory_settled"),
        ),
    ]
