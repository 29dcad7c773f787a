from django.db import migrations, models
from django.db.models.functions import Coalesce

BEGINS = Coalesce("event_at", "valid_from", "happened_at", "created_at")
TOLD = models.Q(("type_uncertain", False), models.Q(("level__in", ("fact", "summary")), _negated=True), _connector="OR")
SETTLED = models.Q(TOLD, ("subject_fallback", None))


class Migration(migrations.Migration):
    dependencies = [("memories", "0022_taken_back")]

    operations = [
        # Only the retriever by time goes by it, and finds nobody else.
        migrations.RemoveIndex(model_name="memory", name="memory_begins"),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(models.F("namespace"), BEGINS, condition=SETTLED, name="memory_begins"),
        ),
        # The last one: between indexes that look equally good, as all do while nothing is known of a table, Postgres
        # takes the newest, and by this one a memory is found by its id at once.
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(condition=SETTLED, fields=["namespace", "id"], name="memory_settled"),
        ),
    ]
