import django.utils.timezone
from django.db import migrations, models

import memories.db.ids
import memories.models.keys
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0008_usage"),
    ]

    operations = [
        migrations.CreateModel(
            name="Profile",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("name", models.CharField(max_length=100)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "name"), name="profile_name_once"),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",), name="profile_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProfileVersion",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("profile_id", models.UUIDField()),
                ("profile", memories.models.references.Reference(related_name="versions", to="memories.profile")),
                ("number", models.PositiveIntegerField()),
                ("system", models.CharField(max_length=50)),
                ("params", models.JSONField(default=dict)),
                ("parent_id", models.UUIDField(null=True)),
                (
                    "parent",
                    memories.models.references.Reference(
                        cascade=False, related_name="children", to="memories.profileversion"
                    ),
                ),
                ("note", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("created_by", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "parent_id"], name="profileversion_parent")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "profile_id", "number"), name="profileversion_once"),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "profile_id"),
                        name="profileversion_profile_fk",
                        to="memories.profile",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        cascade=False,
                        fields=("namespace", "parent_id"),
                        name="profileversion_parent_fk",
                        to="memories.profileversion",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="profileversion_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WritePolicy",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("name", models.CharField(max_length=100)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "verbose_name_plural": "write policies",
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "name"), name="writepolicy_name_once"),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="writepolicy_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WritePolicyVersion",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("policy_id", models.UUIDField()),
                ("policy", memories.models.references.Reference(related_name="versions", to="memories.writepolicy")),
                ("number", models.PositiveIntegerField()),
                ("params", models.JSONField(default=dict)),
                ("parent_id", models.UUIDField(null=True)),
                (
                    "parent",
                    memories.models.references.Reference(
                        cascade=False, related_name="children", to="memories.writepolicyversion"
                    ),
                ),
                ("note", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("created_by", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "parent_id"], name="writepolicyversion_parent")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("namespace", "policy_id", "number"), name="writepolicyversion_once"
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "policy_id"),
                        name="writepolicyversion_policy_fk",
                        to="memories.writepolicy",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        cascade=False,
                        fields=("namespace", "parent_id"),
                        name="writepolicyversion_parent_fk",
                        to="memories.writepolicyversion",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="writepolicyversion_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Publication",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("profile_version_id", models.UUIDField(null=True)),
                (
                    "profile_version",
                    memories.models.references.Reference(
                        cascade=False, related_name="publications", to="memories.profileversion"
                    ),
                ),
                ("policy_version_id", models.UUIDField(null=True)),
                (
                    "policy_version",
                    memories.models.references.Reference(
                        cascade=False, related_name="publications", to="memories.writepolicyversion"
                    ),
                ),
                ("note", models.TextField(blank=True)),
                ("published_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("published_by", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "ordering": ["published_at", "id"],
                "indexes": [
                    models.Index(fields=["namespace", "-published_at", "-id"], name="publication_recent"),
                    models.Index(fields=["namespace", "profile_version_id"], name="publication_profile"),
                    models.Index(fields=["namespace", "policy_version_id"], name="publication_policy"),
                ],
                "constraints": [
                    memories.models.references.ForeignKeyConstraint(
                        cascade=False,
                        fields=("namespace", "profile_version_id"),
                        name="publication_profile_version_fk",
                        to="memories.profileversion",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        cascade=False,
                        fields=("namespace", "policy_version_id"),
                        name="publication_policy_version_fk",
                        to="memories.writepolicyversion",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="publication_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
    ]
