"""Nearest neighbours come from the embedder's own index."""

from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Cast
from pgvector.django import CosineDistance, HalfVectorField

from memories.models import Memory, MemoryVector, Namespace
from memories.models.choices import EMBEDDERS
from tests.support.rows import empty_namespace, row

pytestmark = pytest.mark.django_db


def neighbours(namespace: Namespace, embedder: str, vector: Any) -> QuerySet[MemoryVector]:
    """Ask for the nearest vectors of a namespace, as retrieval does."""
    halves = Cast("vector", HalfVectorField(dimensions=len(vector)))
    found = MemoryVector.objects.within(namespace).filter(embedder=embedder, route="vec_full", indexed=True)
    return found.annotate(distance=CosineDistance(halves, vector)).order_by("distance")


def plan(query: QuerySet[MemoryVector]) -> str:
    """Explain a query as if the table were large: sorting it all is out of the question."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
    return query.explain()


@pytest.mark.parametrize(("embedder", "dimensions"), EMBEDDERS.items())
def test_an_orm_query_that_names_a_shipped_embedder_uses_its_index(embedder: str, dimensions: int) -> None:
    query = neighbours(empty_namespace("here"), embedder, np.ones(dimensions))[:10]
    assert f"using memoryvector_{embedder.lower().replace('-', '_')}" in plan(query)


def test_another_embedder_has_no_index_and_is_scanned() -> None:
    assert "using memoryvector_scan" in plan(neighbours(empty_namespace("here"), "other", np.ones(384))[:10])


def test_what_the_index_does_not_have_is_found_by_an_index_of_its_own() -> None:
    rest = MemoryVector.objects.within(empty_namespace("here")).filter(
        embedder="other", route="vec_full", indexed=False
    )
    assert "using memoryvector_not_indexed" in plan(rest)


def test_the_index_and_a_scan_find_the_same_neighbours_in_the_same_order() -> None:
    here, there = empty_namespace("here"), empty_namespace("there")
    vectors = np.random.default_rng(7).normal(size=(60, 384))
    for namespace in (here, there):
        for vector in vectors[:30] if namespace is there else vectors[30:]:
            row(MemoryVector, namespace, embedder="all-MiniLM-L6-v2", vector=vector.tolist(), indexed=True)
    query = neighbours(here, "all-MiniLM-L6-v2", vectors[30])[:5]
    scanned = list(query)
    assert "memoryvector_all" in plan(query)
    assert list(query.all()) == scanned
    assert scanned[0].distance == pytest.approx(0, abs=1e-3)


def test_vectors_of_two_embedders_lie_side_by_side() -> None:
    memory = row(Memory, empty_namespace("here"))
    for embedder, dimensions in EMBEDDERS.items():
        row(MemoryVector, memory.namespace, memory=memory, embedder=embedder, vector=[0.5] * dimensions)
    assert {vector.embedder: len(vector.vector) for vector in memory.vectors.all()} == EMBEDDERS
