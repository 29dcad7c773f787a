"""The scope of an erasure: merged duplicates and summaries are erased with the memories they derive from."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Coalesce

from memories.models import Memory, MemoryEdge, MemorySource, Namespace, ScoreEvent, Session, Turn
from memories.models.choices import ChunkLevel, EdgeKind, Status
from memories.models.keys import NamespacedQuerySet


def forgotten_before(namespace: Namespace, before: datetime) -> list[UUID]:
    """The memories that were forgotten by then, oldest first."""
    events = ScoreEvent.objects.within(namespace).filter(memory_id=OuterRef("id"), cause="forgotten", at__lte=before)
    memories = Memory.objects.within(namespace).filter(Exists(events), status=Status.FORGOTTEN)
    return list(memories.order_by("id").values_list("id", flat=True))


def user_memories(namespace: Namespace, user: str) -> list[UUID]:
    """A user's memories, and those from the user's sessions."""
    sessions = list(Session.objects.within(namespace).filter(user=user).values_list("id", flat=True))
    owned = Memory.objects.within(namespace).filter(user=user).values_list("id", flat=True)
    return sorted({*owned, *session_memories(namespace, sessions)})


def session_memories(namespace: Namespace, sessions: Sequence[UUID]) -> list[UUID]:
    """The memories that come from some sessions."""
    from_sessions = Q(session_id__in=sessions) | Q(turn__session_id__in=sessions)
    return list(Memory.objects.within(namespace).filter(from_sessions).values_list("id", flat=True))


def with_dependents(namespace: Namespace, ids: Sequence[UUID], user: str | None = None) -> list[UUID]:
    """Memories, those merged into them and the summaries of them, each after the one it depends on.

    When a user is erased, memories that other users stated as well and other users' merged memories are left out.
    """
    shared = said_by_others(namespace, ids, user) if user is not None else ()
    scope = dict.fromkeys(id for id in ids if id not in shared)
    fresh = list(scope)
    while fresh:
        merged = Memory.objects.within(namespace).filter(merged_into_id__in=fresh)
        if user is not None:
            merged = merged.filter(user=user)
        summaries = MemoryEdge.objects.within(namespace).filter(target_id__in=fresh, kind=EdgeKind.SUMMARY_OF)
        dependents = [*merged.values_list("id", flat=True), *summaries.values_list("source_id", flat=True)]
        fresh = [id for id in dict.fromkeys(dependents) if id not in scope]
        scope |= dict.fromkeys(fresh)
    return list(scope)


def said_by_others(namespace: Namespace, memories: Collection[UUID], user: str) -> set[UUID]:
    """The memories that another user has stated as well."""
    return set(sources_of_others(namespace, memories, user).values_list("memory_id", flat=True))


def sources_of_others(namespace: Namespace, memories: Collection[UUID], user: str) -> NamespacedQuerySet[Any]:
    """The sources of memories that come from other users, oldest first, annotated with `speaker`."""
    sources = MemorySource.objects.within(namespace).filter(memory_id__in=memories)
    spoken = sources.annotate(speaker=Coalesce("session__user", "turn__session__user"))
    return spoken.filter(speaker__gt="").exclude(speaker=user).order_by("observed_at", "id")


def exclusive_turns(namespace: Namespace, ids: Sequence[UUID]) -> list[UUID]:
    """The turns behind some memories that no other fact rests on."""
    sources = MemorySource.objects.within(namespace).filter(turn_id__isnull=False)
    facts = Memory.objects.within(namespace).filter(level=ChunkLevel.FACT, turn_id__isnull=False)
    own = {
        *sources.filter(memory_id__in=ids).values_list("turn_id", flat=True),
        *facts.filter(id__in=ids).values_list("turn_id", flat=True),
    }
    others = {
        *sources.filter(turn_id__in=own, memory__level=ChunkLevel.FACT)
        .exclude(memory_id__in=ids)
        .values_list("turn_id", flat=True),
        *facts.filter(turn_id__in=own).exclude(id__in=ids).values_list("turn_id", flat=True),
    }
    return sorted(turn for turn in own - others if turn is not None)


def chunks_with_turns(namespace: Namespace, turns: Sequence[UUID]) -> list[UUID]:
    """The chunks that contain the text of some turns: their own, and those of their whole sessions."""
    chunks = Memory.objects.within(namespace).exclude(level=ChunkLevel.FACT)
    sessions = list(Turn.objects.within(namespace).filter(id__in=turns).values_list("session_id", flat=True))
    sources = MemorySource.objects.within(namespace).filter(turn_id__in=turns).values_list("memory_id", flat=True)
    containing = Q(turn_id__in=turns) | Q(id__in=list(sources)) | Q(level=ChunkLevel.SESSION, session_id__in=sessions)
    return list(chunks.filter(containing).values_list("id", flat=True)) if turns else []
