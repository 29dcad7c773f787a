from django.contrib.postgres.indexes import OpClass
from django.db import migrations, models
from django.db.models.functions import Cast
from pgvector.django import HalfVectorField, HnswIndex

INDEXES = {
    "memoryvector_all_minilm_l6_v2": ("all-MiniLM-L6-v2", 384),
    "memoryvector_wordllama_256": ("wordllama-256", 256),
}


def widen(name: str, embedder: str, dimensions: int) -> migrations.SeparateDatabaseAndState:
    """Search further for the neighbours of vectors from now on; a REINDEX does so for those already in."""
    index = HnswIndex(
        OpClass(Cast("vector", HalfVectorField(dimensions=dimensions)), name="halfvec_cosine_ops"),
        name=name,
        condition=models.Q(embedder=embedder, indexed=True),
        ef_construction=128,
    )
    return migrations.SeparateDatabaseAndState(
        [
            migrations.RunSQL(
                f"ALTER INDEX {name} SET (ef_construction = 128)", f"ALTER INDEX {name} RESET (ef_construction)"
            )
        ],
        [migrations.RemoveIndex("memoryvector", name), migrations.AddIndex("memoryvector", index)],
    )


class Migration(migrations.Migration):
    dependencies = [("memories", "0036_annotation_domain")]

    operations = [
        migrations.AddField(
            model_name="namespacestatistics",
            name="ef_search",
            field=models.PositiveIntegerField(
                default=0,
                help_text="HNSW search effort that was measured to reach the policy's recall; 0: not measured",
            ),
        ),
        *(widen(name, embedder, dimensions) for name, (embedder, dimensions) in INDEXES.items()),
    ]
