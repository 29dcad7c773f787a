"""Which memories go together: what says the same as another, or was made of it, does not outlive it."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from memories.maintenance.shared import shared
from memories.models import Memory, MemoryEdge, MemorySource, Namespace, ScoreEvent, Session, Turn
from memories.models.choices import ChunkLevel, EdgeKind, Status


def forgotten(namespace: Namespace, before: datetime) -> list[UUID]:
    """The memories that were forgotten before a moment, the first first."""
    told = ScoreEvent.objects.within(namespace).filter(memory_id=OuterRef("id"), cause="forgotten", at__lte=before)
    found = Memory.objects.within(namespace).filter(Exists(told), status=Status.FORGOTTEN)
    return list(found.order_by("id").values_list("id", flat=True))


def of_user(namespace: Namespace, user: str) -> list[UUID]:
    """A user's memories, and those of the user's sessions."""
    sessions = list(Session.objects.within(namespace).filter(user=user).values_list("id", flat=True))
    owned = Memory.objects.within(namespace).filter(user=user).values_list("id", flat=True)
    return sorted({*owned, *from_sessions(namespace, sessions)})


def from_sessions(namespace: Namespace, sessions: Sequence[UUID]) -> list[UUID]:
    """The memories that come from some sessions."""
    theirs = Q(session_id__in=sessions) | Q(turn__session_id__in=sessions)
    return list(Memory.objects.within(namespace).filter(theirs).values_list("id", flat=True))


def family(namespace: Namespace, ids: Sequence[UUID], user: str | None = None) -> list[UUID]:
    """Memories with those they absorbed and the summaries made of them, each after the one it hangs on.

    For a user who is to be forgotten, what others have said too is not part of it, nor what was absorbed of others.
    """
    kept = shared(namespace, ids, user) if user is not None else ()
    found = dict.fromkeys(id for id in ids if id not in kept)
    fresh = list(found)
    while fresh:
        absorbed = Memory.objects.within(namespace).filter(merged_into_id__in=fresh)
        if user is not None:
            absorbed = absorbed.filter(user=user)
        summaries = MemoryEdge.objects.within(namespace).filter(target_id__in=fresh, kind=EdgeKind.SUMMARY_OF)
        next = [*absorbed.values_list("id", flat=True), *summaries.values_list("source_id", flat=True)]
        fresh = [id for id in dict.fromkeys(next) if id not in found]
        found |= dict.fromkeys(fresh)
    return list(found)


def turns_alone(namespace: Namespace, ids: Sequence[UUID]) -> list[UUID]:
    """The turns that say these memories, and that no other fact rests on."""
    sources = MemorySource.objects.within(namespace).filter(turn_id__isnull=False)
    facts = Memory.objects.within(namespace).filter(level=ChunkLevel.FACT, turn_id__isnull=False)
    mine = {
        *sources.filter(memory_id__in=ids).values_list("turn_id", flat=True),
        *facts.filter(id__in=ids).values_list("turn_id", flat=True),
    }
    others = {
        *sources.filter(turn_id__in=mine, memory__level=ChunkLevel.FACT)
        .exclude(memory_id__in=ids)
        .values_list("turn_id", flat=True),
        *facts.filter(turn_id__in=mine).exclude(id__in=ids).values_list("turn_id", flat=True),
    }
    return sorted(turn for turn in mine - others if turn is not None)


def chunks_of(namespace: Namespace, turns: Sequence[UUID]) -> list[UUID]:
    """The chunks that hold the words of some turns: those of the turns themselves, and their sessions' whole."""
    chunks = Memory.objects.within(namespace).exclude(level=ChunkLevel.FACT)
    sessions = list(Turn.objects.within(namespace).filter(id__in=turns).values_list("session_id", flat=True))
    sources = MemorySource.objects.within(namespace).filter(turn_id__in=turns).values_list("memory_id", flat=True)
    holding = Q(turn_id__in=turns) | Q(id__in=list(sources)) | Q(level=ChunkLevel.SESSION, session_id__in=sessions)
    return list(chunks.filter(holding).values_list("id", flat=True)) if turns else []
