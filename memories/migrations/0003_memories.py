import django.db.models.functions.text
import django.db.models.lookups
import django.utils.timezone
import pgvector.django.vector
from django.db import migrations, models

import memories.db.ids
import memories.models.keys
import memories.models.references


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0002_namespaces"),
    ]

    operations = [
        migrations.CreateModel(
            name="Session",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("key", models.CharField(help_text="the name the agent gave it", max_length=200)),
                ("title", models.CharField(blank=True, max_length=200)),
                ("user", models.CharField(blank=True, max_length=200)),
                ("agent", models.CharField(blank=True, max_length=200)),
                ("started_at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "-started_at", "id"], name="session_recent")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "user", "key"), name="session_key_once"),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",), name="session_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("session_id", models.UUIDField()),
                ("session", memories.models.references.Reference(related_name="turns", to="memories.session")),
                ("position", models.PositiveIntegerField(help_text="counts from 1")),
                (
                    "role",
                    models.CharField(
                        choices=[("user", "User"), ("assistant", "Assistant"), ("system", "System"), ("tool", "Tool")],
                        max_length=10,
                    ),
                ),
                (
                    "speaker",
                    models.CharField(blank=True, help_text="the speaker's name, if known", max_length=200),
                ),
                ("text", models.TextField()),
                ("said_at", models.DateTimeField()),
                ("metadata", models.JSONField(default=dict)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "session_id", "position"), name="turn_position_once"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["user", "assistant", "system", "tool"])),
                        name="turn_role_known",
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "session_id"),
                        name="turn_session_fk",
                        to="memories.session",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",), name="turn_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Entity",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("name", models.CharField(max_length=300)),
                ("normalised", models.CharField(max_length=300)),
                ("kind", models.CharField(blank=True, max_length=50)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "verbose_name_plural": "entities",
                "indexes": [models.Index(fields=["namespace", "-created_at", "id"], name="entity_recent")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "normalised", "kind"), name="entity_once"),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",), name="entity_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EntityAlias",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("entity_id", models.UUIDField()),
                ("entity", memories.models.references.Reference(related_name="aliases", to="memories.entity")),
                ("name", models.CharField(max_length=300)),
                ("normalised", models.CharField(max_length=300)),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "entity_id"], name="entityalias_entity")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "normalised", "entity_id"), name="entityalias_once"),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "entity_id"),
                        name="entityalias_entity_fk",
                        to="memories.entity",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",),
                        name="entityalias_namespace_fk",
                        to="memories.namespace",
                        to_fields=("id",),
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Cluster",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("id", models.UUIDField(default=memories.db.ids.uuid7, editable=False)),
                ("label", models.CharField(blank=True, max_length=200)),
                ("embedder", models.CharField(max_length=100)),
                ("centroid", pgvector.django.vector.VectorField()),
                ("size", models.PositiveIntegerField()),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "embedder"], name="cluster_embedder")],
                "constraints": [
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",), name="cluster_namespace_fk", to="memories.namespace", to_fields=("id",)
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Memory",
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
                    "type",
                    models.CharField(
                        choices=[
                            ("Entity", "Entity"),
                            ("Event", "Event"),
                            ("Fact", "Fact"),
                            ("Preference", "Preference"),
                            ("Relation", "Relation"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "type_uncertain",
                    models.BooleanField(default=False, help_text="the given type was unknown, so it counts as a Fact"),
                ),
                (
                    "level",
                    models.CharField(
                        choices=[("session", "Session"), ("turn", "Turn"), ("fact", "Fact"), ("summary", "Summary")],
                        default="fact",
                        max_length=10,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("working", "Working"),
                            ("episodic", "Episodic"),
                            ("semantic", "Semantic"),
                            ("procedural", "Procedural"),
                            ("general", "General"),
                        ],
                        default="general",
                        max_length=10,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("merged", "Merged"),
                            ("superseded", "Superseded"),
                            ("archived", "Archived"),
                            ("rejected", "Rejected"),
                            ("forgotten", "Forgotten"),
                        ],
                        default="active",
                        max_length=10,
                    ),
                ),
                ("reason", models.TextField(blank=True, help_text="why it has its status")),
                ("content", models.TextField()),
                (
                    "content_hash",
                    models.BinaryField(
                        help_text="SHA-256 of the normalised type, subject, predicate, content", max_length=32
                    ),
                ),
                ("length", models.PositiveIntegerField(default=0, help_text="lexemes, as BM25 counts them")),
                ("subject_id", models.UUIDField(null=True)),
                (
                    "subject",
                    memories.models.references.Reference(cascade=False, related_name="memories", to="memories.entity"),
                ),
                (
                    "subject_surface",
                    models.CharField(blank=True, help_text="the subject as written", max_length=300),
                ),
                (
                    "subject_fallback",
                    models.UUIDField(help_text="uuid5 of a subject that could not be resolved", null=True),
                ),
                ("predicate", models.CharField(blank=True, max_length=200)),
                ("object", models.TextField(blank=True)),
                ("evidence", models.TextField(blank=True)),
                ("metadata", models.JSONField(default=dict)),
                ("source_strength", models.FloatField(help_text="s")),
                ("repetitions", models.PositiveIntegerField(default=0, help_text="n: independent re-observations")),
                ("extractor_confidence", models.FloatField(help_text="e")),
                ("extractor_model", models.CharField(blank=True, max_length=200)),
                (
                    "extractor_logprob",
                    models.FloatField(help_text="mean log-probability of the extractor's tokens", null=True),
                ),
                ("type_prior", models.FloatField(help_text="t")),
                (
                    "grounding",
                    models.CharField(
                        choices=[("supported", "Supported"), ("partial", "Partial"), ("unsupported", "Unsupported")],
                        default="supported",
                        max_length=12,
                    ),
                ),
                ("grounding_penalty", models.FloatField(default=0.0)),
                (
                    "confidence",
                    models.FloatField(help_text="computed from the above; stored because lists filter by it"),
                ),
                ("confirmed_at", models.DateTimeField(null=True)),
                ("belief", models.FloatField(default=5.0)),
                ("corroborations", models.PositiveIntegerField(default=0)),
                ("contradictions", models.PositiveIntegerField(default=0)),
                ("importance", models.FloatField(default=0.5)),
                ("quality", models.FloatField(default=0.5)),
                (
                    "memory_score",
                    models.FloatField(help_text="memsense's chunk quality; empty: the confidence is used", null=True),
                ),
                (
                    "provenance_depth",
                    models.PositiveSmallIntegerField(default=0, help_text="number of hops from the original source"),
                ),
                ("useful", models.PositiveIntegerField(default=0)),
                ("not_useful", models.PositiveIntegerField(default=0)),
                ("access_count", models.PositiveIntegerField(default=0)),
                ("last_accessed_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("happened_at", models.DateTimeField(help_text="when it was said or observed", null=True)),
                ("event_at", models.DateTimeField(help_text="when the event it describes takes place", null=True)),
                ("event_until", models.DateTimeField(null=True)),
                ("valid_from", models.DateTimeField(null=True)),
                ("valid_until", models.DateTimeField(null=True)),
                ("user", models.CharField(blank=True, max_length=200)),
                ("agent", models.CharField(blank=True, max_length=200)),
                ("session_id", models.UUIDField(null=True)),
                (
                    "session",
                    memories.models.references.Reference(cascade=False, related_name="memories", to="memories.session"),
                ),
                ("turn_id", models.UUIDField(null=True)),
                (
                    "turn",
                    memories.models.references.Reference(cascade=False, related_name="memories", to="memories.turn"),
                ),
                ("cluster_id", models.UUIDField(null=True)),
                (
                    "cluster",
                    memories.models.references.Reference(cascade=False, related_name="memories", to="memories.cluster"),
                ),
                ("merged_into_id", models.UUIDField(null=True)),
                ("merged_into", memories.models.references.Reference(related_name="absorbed", to="memories.memory")),
                ("superseded_by_id", models.UUIDField(null=True)),
                (
                    "superseded_by",
                    memories.models.references.Reference(
                        cascade=False, related_name="supersedes", to="memories.memory"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "memories",
                "indexes": [
                    models.Index(fields=["namespace", "status", "-created_at", "id"], name="memory_recent"),
                    models.Index(
                        fields=["namespace", "status", "type", "-created_at", "id"], name="memory_recent_of_type"
                    ),
                    models.Index(fields=["namespace", "user", "status", "-created_at"], name="memory_recent_of_user"),
                    models.Index(
                        condition=models.Q(("subject_id__isnull", False)),
                        fields=["namespace", "subject_id", "predicate"],
                        name="memory_subject",
                    ),
                    models.Index(
                        condition=models.Q(("subject_fallback__isnull", False)),
                        fields=["namespace", "subject_fallback"],
                        name="memory_subject_fallback",
                    ),
                    models.Index(
                        condition=models.Q(("session_id__isnull", False)),
                        fields=["namespace", "session_id"],
                        name="memory_session",
                    ),
                    models.Index(
                        condition=models.Q(("turn_id__isnull", False)),
                        fields=["namespace", "turn_id"],
                        name="memory_turn",
                    ),
                    models.Index(
                        condition=models.Q(("cluster_id__isnull", False)),
                        fields=["namespace", "cluster_id"],
                        name="memory_cluster",
                    ),
                    models.Index(
                        condition=models.Q(("merged_into_id__isnull", False)),
                        fields=["namespace", "merged_into_id"],
                        name="memory_merged_into",
                    ),
                    models.Index(
                        condition=models.Q(("superseded_by_id__isnull", False)),
                        fields=["namespace", "superseded_by_id"],
                        name="memory_superseded_by",
                    ),
                    models.Index(
                        condition=models.Q(("event_at__isnull", False)),
                        fields=["namespace", "event_at", "event_until"],
                        name="memory_event",
                    ),
                    models.Index(
                        condition=models.Q(("valid_from__isnull", False)),
                        fields=["namespace", "valid_from"],
                        name="memory_valid_from",
                    ),
                    models.Index(
                        condition=models.Q(("valid_until__isnull", False)),
                        fields=["namespace", "valid_until"],
                        name="memory_valid_until",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "active")),
                        fields=("namespace", "content_hash"),
                        name="memory_active_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("type__in", ["Entity", "Event", "Fact", "Preference", "Relation"])),
                        name="memory_type_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("level__in", ["session", "turn", "fact", "summary"])),
                        name="memory_level_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["working", "episodic", "semantic", "procedural", "general"])),
                        name="memory_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["active", "merged", "superseded", "archived", "rejected", "forgotten"])
                        ),
                        name="memory_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("grounding__in", ["supported", "partial", "unsupported"])),
                        name="memory_grounding_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source_strength__range", (0, 1))), name="memory_source_strength_range"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("extractor_confidence__range", (0, 1))),
                        name="memory_extractor_confidence_range",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("type_prior__range", (0, 1))), name="memory_type_prior_range"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("grounding_penalty__range", (0, 1))), name="memory_grounding_penalty_range"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__range", (0, 1))), name="memory_confidence_range"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("importance__range", (0, 1))), name="memory_importance_range"
                    ),
                    models.CheckConstraint(condition=models.Q(("quality__range", (0, 1))), name="memory_quality_range"),
                    models.CheckConstraint(
                        condition=models.Q(("memory_score__range", (0, 1))), name="memory_memory_score_range"
                    ),
                    models.CheckConstraint(condition=models.Q(("belief__range", (0, 10))), name="memory_belief_range"),
                    models.CheckConstraint(
                        condition=models.Q(("extractor_logprob__range", (-1000000.0, 0))),
                        name="memory_extractor_logprob_range",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("event_until__gte", models.F("event_at"))), name="memory_event_at_first"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("valid_until__gte", models.F("valid_from"))), name="memory_valid_from_first"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("merged_into_id", models.F("id")), _negated=True),
                        name="memory_merged_into_id_apart",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("superseded_by_id", models.F("id")), _negated=True),
                        name="memory_superseded_by_id_apart",
                    ),
                    models.CheckConstraint(
                        condition=django.db.models.lookups.Exact(
                            django.db.models.functions.text.Length("content_hash"), 32
                        ),
                        name="memory_content_hash_length",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("subject_id", None), ("subject_fallback", None), _connector="OR"),
                        name="memory_subject_one_way",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "merged"), _negated=True),
                            ("merged_into_id__isnull", False),
                            _connector="OR",
                        ),
                        name="memory_merged_somewhere",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "superseded"), _negated=True),
                            ("superseded_by_id__isnull", False),
                            _connector="OR",
                        ),
                        name="memory_superseded_by_one",
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        cascade=False,
                        fields=("namespace", "subject_id"),
                        name="memory_subject_fk",
                        to="memories.entity",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        cascade=False,
                        fields=("namespace", "session_id"),
                        name="memory_session_fk",
                        to="memories.session",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        cascade=False,
                        fields=("namespace", "turn_id"),
                        name="memory_turn_fk",
                        to="memories.turn",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        cascade=False,
                        fields=("namespace", "cluster_id"),
                        name="memory_cluster_fk",
                        to="memories.cluster",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "merged_into_id"),
                        name="memory_merged_into_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        cascade=False,
                        fields=("namespace", "superseded_by_id"),
                        name="memory_superseded_by_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",), name="memory_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryTag",
            fields=[
                ("namespace", memories.models.keys.NamespaceKey()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id",
                        "tag",
                        "memory_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("tag", models.CharField(max_length=100)),
                ("memory_id", models.UUIDField()),
                ("memory", memories.models.references.Reference(related_name="tags", to="memories.memory")),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "memory_id"], name="memorytag_memory")],
                "constraints": [
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace", "memory_id"),
                        name="memorytag_memory_fk",
                        to="memories.memory",
                        to_fields=("namespace", "id"),
                    ),
                    memories.models.references.ForeignKeyConstraint(
                        fields=("namespace",), name="memorytag_namespace_fk", to="memories.namespace", to_fields=("id",)
                    ),
                ],
            },
        ),
    ]
