import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import memories.db.ids
import memories.models.keys
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("memories", "0001_vector_extension"),
    ]

    operations = [
        migrations.CreateModel(
            name="Namespace",
            fields=[
                (
                    "id",
                    models.UUIDField(default=memories.db.ids.uuid7, editable=False, primary_key=True, serialize=False),
                ),
                ("slug", models.SlugField(unique=True)),
                ("title", models.CharField(max_length=200)),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("belief_system", "Belief System"),
                            ("agent_memory", "Agent Memory"),
                            ("general", "General"),
                            ("procedural", "Procedural"),
                        ],
                        default="general",
                        max_length=20,
                    ),
                ),
                (
                    "text_config",
                    models.CharField(default="english", help_text="Postgres text search configuration", max_length=63),
                ),
                ("embedder", models.CharField(default="all-MiniLM-L6-v2", max_length=100)),
                (
                    "redacts",
                    models.BooleanField(
                        default=False,
                        help_text="whether keys, card numbers and e-mail addresses are redacted before storing",
                    ),
                ),
                (
                    "clock",
                    models.DateTimeField(
                        blank=True, help_text="fixed current time of the namespace; empty: real time", null=True
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("mode__in", ["belief_system", "agent_memory", "general", "procedural"])),
                        name="namespace_mode_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.UUIDField(default=memories.db.ids.uuid7, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "namespace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="memories.namespace"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[("read", "Read"), ("write", "Write"), ("admin", "Admin")],
                        default="read",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("user", "namespace"), name="membership_once"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["read", "write", "admin"])), name="membership_role_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("name", models.CharField(max_length=200)),
                (
                    "role",
                    models.CharField(
                        choices=[("read", "Read"), ("write", "Write"), ("admin", "Admin")],
                        default="read",
                        max_length=10,
                    ),
                ),
                (
                    "prefix",
                    models.CharField(help_text="first characters of the key, to recognise it", max_length=20),
                ),
                ("hash", models.BinaryField(help_text="SHA-256 of the key", max_length=32)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("last_used_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("rotated_from_id", models.UUIDField(null=True)),
                (
                    "rotated_from",
                    memories.models.references.Reference(
                        cascade=False, related_name="rotated_to", to="memories.apikey"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "rotated_from_id"], name="apikey_rotated_from")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "hash"), name="apikey_hash_once"),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(django.db.models.functions.text.Length("hash"), 32),
                        name="apikey_hash_length",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["read", "write", "admin"])), name="apikey_role_known"
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        cascade=False,
                        fields=("namespace", "rotated_from_id"),
                        name="apikey_rotated_from_fk",
                        to="memories.apikey",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",), name="apikey_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                ],
            },
        ),
    ]
