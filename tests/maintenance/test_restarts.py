"""A step killed at any piece and started again ends as if it had never been killed."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from memories.contracts.work import Work
from memories.maintenance import consolidation, contradictions, reconnection
from memories.maintenance.reflect import STEPS
from memories.models import Cluster, Job, Memory, MemoryEdge, Mention, Namespace, NamespaceStatistics, ScoreEvent
from tests.support.reflection import NOW, add_entity, reflect, start_step, store_memory

pytestmark = pytest.mark.django_db


class DeathError(Exception):
    """What ends a worker in the middle of a piece."""


class Mortal(Work):
    """A job that dies at a given piece, before that is committed."""

    lives = 0

    def record_progress(self, done: int, total: int | None = None, **counted: int) -> None:
        super().record_progress(done, total, **counted)
        self.lives -= 1
        if self.lives < 0:
            raise DeathError


def world() -> Namespace:
    """Something for every step to find."""
    namespace = Namespace.objects.create(slug=f"world-{uuid4().hex[:8]}", title="World", clock=NOW)
    store_memory(namespace, "Barks at night", subject="Cron", session="a")
    store_memory(namespace, "Grind keeps 4 connections to Slottet", session="a")
    store_memory(namespace, "According to Priya, Grind keeps 9 connections to Slottet", session="b")
    for place, text in enumerate(
        ("drinks her coffee black in the morning", "takes a black coffee before the stand-up")
    ):
        store_memory(namespace, f"Maya {text}", subject="Maya", session=f"s{place}")
    store_memory(namespace, "Every day Maya has black coffee for breakfast", subject="Maya", session="s2")
    for days, text in ((90, "traces requests"), (90, "draws curves"), (90, "stores spans")):
        told = {"predicate": "traces", "happened_at": NOW - timedelta(days=days)}
        store_memory(namespace, f"Lighthouse {text}", subject="Lighthouse", **told)
    for text in ("serves cinnamon buns", "opens a bakery", "hires pastry cooks"):
        store_memory(namespace, f"Lighthouse {text}", subject="Lighthouse", predicate="bakes")
    doubted = store_memory(namespace, "Owns three horses", session="c")
    Memory.objects.within(namespace).filter(id=doubted.id).update(belief=1.0)
    for name in ("Cron", "Grind", "Slottet", "Maya", "Lighthouse"):
        add_entity(namespace, name)
    return namespace


def state(namespace: Namespace) -> dict[str, Any]:
    """What a namespace holds, without ids."""
    memories = Memory.objects.within(namespace)
    columns = memories.values_list("content", "level", "status", "belief", "subject__name", "cluster__size")
    words = NamespaceStatistics.objects.get(namespace=namespace)
    return {
        "memories": sorted(map(str, columns)),
        "edges": sorted(MemoryEdge.objects.within(namespace).values_list("kind", "source__content", "target__content")),
        "mentions": Mention.objects.within(namespace).count(),
        "events": sorted(ScoreEvent.objects.within(namespace).values_list("cause", "memory__content")),
        "clusters": sorted(Cluster.objects.within(namespace).values_list("label", "size")),
        "words": (words.documents, words.total_length),
    }


def counts(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if isinstance(value, int)}


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have many pieces though there are few memories."""
    for module in (consolidation, contradictions, reconnection):
        monkeypatch.setattr(module, "in_batches", lambda items, size=0: ([item] for item in items))


def test_a_step_that_dies_at_any_piece_ends_as_if_it_had_not() -> None:
    whole, broken = world(), world()
    deaths = 0
    for step in STEPS:
        expected = reflect(whole, step, archive=True)
        work = start_step(broken, step, archive=True)
        for attempt in range(200):
            mortal = Mortal(broken, Job.objects.get(id=work.job.id))
            mortal.lives = attempt % 4
            try:
                STEPS[step](mortal)
                break
            except DeathError:
                deaths += 1
        Job.objects.filter(id=work.job.id).update(state="done")
        assert counts(Job.objects.get(id=work.job.id).result[step]) == counts(expected), step
        assert state(broken) == state(whole), step
    assert deaths > 20
    assert len({tuple(one) for one in state(whole)["edges"]}) >= 4
