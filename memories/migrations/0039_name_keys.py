from django.db import migrations, models

import memories.models.keys
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [("memories", "0038_memorysync_traced_sets")]

    operations = [
        migrations.CreateModel(
            name="NameKey",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id",
                        "key",
                        "entity_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("key", models.TextField()),
                ("entity_id", models.UUIDField()),
                ("entity", memories.models.references.Reference(related_name="name_keys", to="memories.entity")),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "entity_id"], name="namekey_entity")],
                "constraints": [
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "entity_id"),
                        name="namekey_entity_fk",
                        to="memories.entity",
                        to_fields=("namespace", "id"),
                    )
                ],
            },
        ),
    ]
