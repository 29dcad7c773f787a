import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0031_glossary_signals"),
    ]

    operations = [
        migrations.AlterField(
            model_name="annotation",
            name="right",
            field=models.BooleanField(help_text="whether the memory is correct"),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="prefix",
            field=models.CharField(help_text="first characters of the key, to recognise it", max_length=20),
        ),
        migrations.AlterField(
            model_name="entity",
            name="registered",
            field=models.BooleanField(
                default=True, help_text="created explicitly; otherwise deleted with the last memory that mentions it"
            ),
        ),
        migrations.AlterField(
            model_name="idempotencyrecord",
            name="caller",
            field=models.CharField(help_text="the user or API key; idempotency keys are per caller", max_length=200),
        ),
        migrations.AlterField(
            model_name="idempotencyrecord",
            name="memory_ids",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.UUIDField(),
                default=list,
                help_text="memories in the response, so that an erasure finds it",
                size=None,
            ),
        ),
        migrations.AlterField(
            model_name="idempotencyrecord",
            name="status",
            field=models.PositiveSmallIntegerField(help_text="empty while the request is running", null=True),
        ),
        migrations.AlterField(
            model_name="job",
            name="by",
            field=models.CharField(blank=True, help_text="the user, API key or command", max_length=200),
        ),
        migrations.AlterField(
            model_name="job",
            name="done",
            field=models.PositiveIntegerField(default=0, help_text="units of the step that are done"),
        ),
        migrations.AlterField(
            model_name="job",
            name="moved_at",
            field=models.DateTimeField(help_text="time of the last progress update", null=True),
        ),
        migrations.AlterField(
            model_name="job",
            name="result",
            field=models.JSONField(default=dict, help_text="result of each step, by its name"),
        ),
        migrations.AlterField(
            model_name="job",
            name="run",
            field=models.UUIDField(
                help_text="id of the current attempt; an earlier one must not write any more", null=True
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="step",
            field=models.CharField(blank=True, help_text="current step", max_length=50),
        ),
        migrations.AlterField(
            model_name="job",
            name="total",
            field=models.PositiveIntegerField(help_text="units in all; empty: not known yet", null=True),
        ),
        migrations.AlterField(
            model_name="judgedquery",
            name="overruled",
            field=models.BooleanField(
                default=False, help_text="imported as unanswerable, but a memory was graded relevant"
            ),
        ),
        migrations.AlterField(
            model_name="memory",
            name="confidence",
            field=models.FloatField(help_text="computed from the above; stored because lists filter by it"),
        ),
        migrations.AlterField(
            model_name="memory",
            name="event_at",
            field=models.DateTimeField(help_text="when the event it describes takes place", null=True),
        ),
        migrations.AlterField(
            model_name="memory",
            name="memory_score",
            field=models.FloatField(help_text="memsense's chunk quality; empty: the confidence is used", null=True),
        ),
        migrations.AlterField(
            model_name="memory",
            name="provenance_depth",
            field=models.PositiveSmallIntegerField(default=0, help_text="number of hops from the original source"),
        ),
        migrations.AlterField(
            model_name="memory",
            name="reason",
            field=models.TextField(blank=True, help_text="why it has its status"),
        ),
        migrations.AlterField(
            model_name="memory",
            name="subject_surface",
            field=models.CharField(blank=True, help_text="the subject as written", max_length=300),
        ),
        migrations.AlterField(
            model_name="memorysource",
            name="source",
            field=models.CharField(
                blank=True,
                help_text="such as a document or an agent, if it is neither turn nor session",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            model_name="memoryvector",
            name="indexed",
            field=models.BooleanField(
                default=False, help_text="whether it is in the HNSW index; otherwise a scan finds it"
            ),
        ),
        migrations.AlterField(
            model_name="memoryvector",
            name="written",
            field=models.BigIntegerField(default=0, help_text="number of the write that made it searchable"),
        ),
        migrations.AlterField(
            model_name="namespace",
            name="clock",
            field=models.DateTimeField(
                blank=True, help_text="fixed current time of the namespace; empty: real time", null=True
            ),
        ),
        migrations.AlterField(
            model_name="namespace",
            name="redacts",
            field=models.BooleanField(
                default=False, help_text="whether keys, card numbers and e-mail addresses are redacted before storing"
            ),
        ),
        migrations.AlterField(
            model_name="namespacestatistics",
            name="epoch",
            field=models.IntegerField(
                default=0,
                help_text="incremented by what invalidates every cache: another embedder, a restore, an erasure",
            ),
        ),
        migrations.AlterField(
            model_name="namespacestatistics",
            name="writes",
            field=models.BigIntegerField(default=0, help_text="number of writes; versions the caches of a process"),
        ),
        migrations.AlterField(
            model_name="pooledmemory",
            name="best",
            field=models.PositiveSmallIntegerField(help_text="best rank"),
        ),
        migrations.AlterField(
            model_name="pooledmemory",
            name="found_by",
            field=models.PositiveSmallIntegerField(help_text="number of configurations that return it"),
        ),
        migrations.AlterField(
            model_name="pooledmemory",
            name="ranks",
            field=models.JSONField(default=dict, help_text="rank by configuration, counted from 1"),
        ),
        migrations.AlterField(
            model_name="publication",
            name="rolled_back",
            field=models.BooleanField(default=False, help_text="whether it undoes the publication before it"),
        ),
        migrations.AlterField(
            model_name="scoreevent",
            name="by",
            field=models.CharField(blank=True, help_text="the user or API key", max_length=200),
        ),
        migrations.AlterField(
            model_name="scoreevent",
            name="other_id",
            field=models.UUIDField(
                help_text="the memory that caused it; no foreign key, since history outlives it", null=True
            ),
        ),
        migrations.AlterField(
            model_name="scoreevent",
            name="parts",
            field=models.JSONField(default=dict, help_text="explanation of the new numbers"),
        ),
        migrations.AlterField(
            model_name="sessionreturn",
            name="session",
            field=models.CharField(help_text="the agent's session key; the session may have no turns", max_length=200),
        ),
        migrations.AlterField(
            model_name="shadow",
            name="percent",
            field=models.PositiveSmallIntegerField(help_text="share of the traces that it answers"),
        ),
        migrations.AlterField(
            model_name="shadow",
            name="seen",
            field=models.UUIDField(help_text="last trace processed; empty: none yet", null=True),
        ),
        migrations.AlterField(
            model_name="trace",
            name="against",
            field=models.JSONField(help_text="comparison of a shadow's answer with the one returned", null=True),
        ),
        migrations.AlterField(
            model_name="trace",
            name="as_of",
            field=models.DateTimeField(help_text="the time that ages were measured from"),
        ),
        migrations.AlterField(
            model_name="trace",
            name="results",
            field=models.PositiveSmallIntegerField(default=0, help_text="number of results"),
        ),
        migrations.AlterField(
            model_name="trace",
            name="shadow",
            field=models.BooleanField(default=False, help_text="answered by the shadow, never returned to a caller"),
        ),
        migrations.AlterField(
            model_name="tracedset",
            name="params",
            field=models.JSONField(default=dict, help_text="given parameters that affect candidates"),
        ),
        migrations.AlterField(
            model_name="tracedset",
            name="ready_at",
            field=models.DateTimeField(help_text="empty: not all queries are traced yet", null=True),
        ),
        migrations.AlterField(
            model_name="tracedset",
            name="writes",
            field=models.BigIntegerField(
                default=0, help_text="write counter of the namespace at the start; outdated if it has moved on"
            ),
        ),
        migrations.AlterField(
            model_name="turn",
            name="speaker",
            field=models.CharField(blank=True, help_text="the speaker's name, if known", max_length=200),
        ),
    ]
