"""Vectors lie side by side by embedder, and those without an index are found by indexes of their own."""

import numpy as np
import pytest
from django.db import connection
from django.db.models import QuerySet
from pgvector.django import CosineDistance

from memories.models import Memory, MemoryVector
from tests.support.rows import empty_namespace, row

pytestmark = pytest.mark.django_db


def plan(query: QuerySet[MemoryVector]) -> str:
    """Explain a query as if the table were large: scanning it all is out of the question."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    return query.explain()


def test_the_vectors_of_a_small_namespace_are_scanned_by_its_own_part_of_an_index() -> None:
    found = MemoryVector.objects.within(empty_namespace("here")).filter(embedder="other", route="vec_full")
    nearest = found.annotate(distance=CosineDistance("vector", np.ones(384))).order_by("distance")
    assert "using memoryvector_scan" in plan(nearest[:10]).casefold()


def test_what_the_index_does_not_have_is_found_by_an_index_of_its_own() -> None:
    rest = MemoryVector.objects.within(empty_namespace("here")).filter(
        embedder="other", route="vec_full", indexed=False
    )
    assert "using memoryvector_not_indexed" in plan(rest).casefold()


def test_vectors_of_two_embedders_lie_side_by_side() -> None:
    memory = row(Memory, empty_namespace("here"))
    for embedder, dimensions in (("all-MiniLM-L6-v2", 384), ("wordllama-256", 256)):
        row(MemoryVector, memory.namespace, memory=memory, embedder=embedder, vector=[0.5] * dimensions)
    assert sorted(len(vector.vector) for vector in memory.vectors.all()) == [256, 384]
