import django.utils.timezone
from django.db import migrations, models

import memories.db.ids
import memories.models.keys
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0018_traced_sets"),
    ]

    operations = [
        migrations.CreateModel(
            name="Annotation",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("memory_id", models.UUIDField()),
                ("annotator", models.CharField(max_length=200)),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("Entity", "Entity"),
                            ("Event", "Event"),
                            ("Fact", "Fact"),
                            ("Preference", "Preference"),
                            ("Relation", "Relation"),
                        ],
                        help_text="the type the annotator would give it",
                        max_length=10,
                    ),
                ),
                ("right", models.BooleanField(help_text="whether the memory is correct")),
                ("confidence", models.FloatField(help_text="the confidence the annotator would give it")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("memory", memories.models.references.Reference(related_name="annotations", to="memories.memory")),
                ("namespace", memories.models.keys.NamespaceKey()),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "-created_at", "id"], name="annotation_recent")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "memory_id", "annotator"), name="annotation_once"),
                    models.CheckConstraint(
                        condition=models.Q(("type__in", ["Entity", "Event", "Fact", "Preference", "Relation"])),
                        name="annotation_type_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__range", (0, 1))), name="annotation_confidence_range"
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="annotation_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                ],
            },
        ),
    ]
