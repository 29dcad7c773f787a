import django.contrib.postgres.fields
import django.db.models.functions.text
import django.db.models.lookups
import django.utils.timezone
from django.db import migrations, models

import memories.db.ids
import memories.models.keys
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0007_words"),
    ]

    operations = [
        migrations.CreateModel(
            name="SessionReturn",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id",
                        "user",
                        "session",
                        "memory_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("user", models.CharField(blank=True, max_length=200)),
                (
                    "session",
                    models.CharField(
                        help_text="the agent's session key; the session may have no turns", max_length=200
                    ),
                ),
                ("memory_id", models.UUIDField()),
                ("memory", memories.models.references.Reference(related_name="returns", to="memories.memory")),
                ("returned_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "memory_id"], name="sessionreturn_memory")],
                "constraints": [
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="sessionreturn_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="sessionreturn_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DailyAccess",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id",
                        "memory_id",
                        "day",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("memory_id", models.UUIDField()),
                ("memory", memories.models.references.Reference(related_name="accesses", to="memories.memory")),
                ("day", models.DateField()),
                ("count", models.PositiveIntegerField(default=0)),
            ],
            options={
                "verbose_name_plural": "daily accesses",
                "constraints": [
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="dailyaccess_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="dailyaccess_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="IdempotencyRecord",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                (
                    "caller",
                    models.CharField(help_text="the user or API key; idempotency keys are per caller", max_length=200),
                ),
                ("key", models.CharField(max_length=200)),
                ("request_hash", models.BinaryField(help_text="SHA-256 of method, path and body", max_length=32)),
                ("status", models.PositiveSmallIntegerField(help_text="empty while the request is running", null=True)),
                ("response", models.JSONField(null=True)),
                (
                    "memory_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(),
                        default=list,
                        help_text="memories in the response, so that an erasure finds it",
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "expires_at"], name="idempotencyrecord_expiry")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "caller", "key"), name="idempotencyrecord_once"),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            django.db.models.functions.text.Length("request_hash"), 32
                        ),
                        name="idempotencyrecord_request_hash_length",
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="idempotencyrecord_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
    ]
