"""Conversations: turns and sessions that go, and what memories of others lose by it."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from memories.maintenance.survivors import weigh_again
from memories.models import MemorySource, MemoryVector, Namespace, Session, Turn
from memories.models.choices import Route

# These vectors are made of the turns around a memory, too.
AROUND = (Route.CONTEXT, Route.NEXT_USER)


def erase_turns(namespace: Namespace, turns: Sequence[UUID]) -> Counter[str]:
    """Erase turns that no memory comes from any more, and the vectors they had a part in."""
    said = Turn.objects.within(namespace).filter(id__in=turns)
    sessions = list(said.values_list("session_id", flat=True))
    around = MemoryVector.objects.within(namespace).filter(memory__session_id__in=sessions, route__in=AROUND)
    vectors = MemoryVector.objects.within(namespace).filter(id__in=list(around.values_list("id", flat=True)))
    erased = Counter({"memory vectors": vectors.delete()[0]})
    return erased + unsourced(namespace, Q(turn_id__in=turns)) + Counter({"turns": said.delete()[0]})


def erase_sessions(namespace: Namespace, sessions: Sequence[UUID]) -> Counter[str]:
    """Erase sessions that no memory comes from any more, with all their turns."""
    said = Turn.objects.within(namespace).filter(session_id__in=sessions)
    turns = list(said.values_list("id", flat=True))
    erased = unsourced(namespace, Q(session_id__in=sessions) | Q(turn_id__in=turns))
    gone = Session.objects.within(namespace).filter(id__in=sessions)
    return erased + Counter({"turns": said.delete()[0]}) + Counter({"sessions": gone.delete()[0]})


def unsourced(namespace: Namespace, where: Q) -> Counter[str]:
    """Take sources from under the memories that rest on them, and weigh those by what is left."""
    sources = MemorySource.objects.within(namespace).filter(where)
    resting = set(sources.values_list("memory_id", flat=True))
    erased = Counter({"memory sources": sources.delete()[0]})
    return erased + Counter({"memories weighed again": weigh_again(namespace, resting)})
