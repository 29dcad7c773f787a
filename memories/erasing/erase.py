"""From a wish that something be erased to nothing that tells of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction
from django.db.models import F

from memories.erasing.conversations import erase_sessions, erase_turns
from memories.erasing.families import chunks_of, family, from_sessions, of_user, turns_alone
from memories.erasing.graph import entities_of, erase_unnamed, middle_again
from memories.erasing.judgements import erase_unanswered, queries_answered_by
from memories.erasing.records import erase_records, erase_records_of, redact_jobs
from memories.erasing.redaction import Redaction
from memories.erasing.shared import hand_over
from memories.erasing.survivors import archive_left, give_back, redact_history, weigh_again
from memories.models import Memory, Namespace, NamespaceStatistics, Posting, Session
from memories.models.choices import Status
from memories.models.immutable import ImmutableQuerySet
from memories.models.references import Reference
from memories.writing import search_index
from memories.writing.lock import lock_namespace

TOGETHER = 500  # memories in one transaction: traces are scanned once for all, and others write in between
# What the database would delete with a memory; deleted by name, so that it can be counted.
HANGING = [
    relation.field
    for relation in Memory._meta.related_objects
    if isinstance(relation.field, Reference) and relation.field.cascade and relation.related_model is not Memory
]


@dataclass
class Erasure:
    """The erasing of a namespace's memories, and how many rows of what went so far.

    Every piece is one transaction, and what hangs on a memory goes before it: whatever stops an erasure, asking for it
    again ends it.
    """

    namespace: Namespace
    user: str | None = None  # who is to be forgotten
    with_turns: bool = False
    erased: Counter[str] = field(default_factory=Counter)

    def erase(self, ids: Sequence[UUID]) -> None:
        """Erase memories, and those that do not outlive them."""
        for piece in pieces(ids):
            # Last first, and the rest of a long family in later pieces.
            for part in pieces(family(self.namespace, piece, self.user)[::-1]):
                self._erase_together(part)

    def forget_user(self) -> None:
        """Erase all that a user said, was told and asked."""
        assert self.user is not None
        self.erase(of_user(self.namespace, self.user))
        self._hand_over()
        sessions = Session.objects.within(self.namespace).filter(user=self.user).order_by("id")
        for piece in pieces(list(sessions.values_list("id", flat=True))):
            self._erase_conversations(piece)
        self.erased += erase_records_of(self.namespace, self.user)

    @transaction.atomic
    def _erase_together(self, wanted: Sequence[UUID]) -> None:
        """Erase some memories and all that tells of them, under the lock of their namespace."""
        lock_namespace(self.namespace)
        namespace, ids = self.namespace, family(self.namespace, wanted, self.user)
        turns = turns_alone(namespace, ids) if self.with_turns else []
        ids = family(namespace, [*ids, *chunks_of(namespace, turns)], self.user)
        memories = list(Memory.objects.within(namespace).filter(id__in=ids))
        clusters = {memory.cluster_id for memory in memories if memory.cluster_id}
        # A cluster is called by the words of its members.
        told = Redaction.of([*ids, *clusters], [memory.content for memory in memories])
        self.erased["postings"] += Posting.objects.within(namespace).filter(memory_id__in=ids).count()
        search_index.hide_memories(namespace, [memory.id for memory in memories if memory.status == Status.ACTIVE])
        self.erased["events redacted"] += redact_history(namespace, ids, told)
        self.erased["memories archived"] += archive_left(namespace, ids)
        self.erased += erase_records(namespace, ids)
        self.erased["jobs redacted"] += redact_jobs(namespace, told)
        answered, named = queries_answered_by(namespace, ids), entities_of(namespace, ids)
        heads = {memory.merged_into_id for memory in memories if memory.merged_into_id} - set(ids)
        give_back(namespace, heads, memories)
        self._delete(ids)
        # What they had absorbed was part of what they stand on.
        self.erased["memories weighed again"] += weigh_again(namespace, heads)
        middle_again(namespace, clusters)
        self.erased["judged queries"] += erase_unanswered(namespace, answered)
        # Only who is to be forgotten takes along the names that were registered for their own sake.
        unnamed = erase_unnamed(namespace, named, registered=self.user is not None)
        self.erased["entities"] += len(unnamed)
        self.erased["jobs redacted"] += redact_jobs(namespace, Redaction.of(unnamed, ()))
        self.erased += erase_turns(namespace, turns) if turns else Counter()
        have_let_go(namespace)

    @transaction.atomic
    def _erase_conversations(self, sessions: Sequence[UUID]) -> None:
        """Erase sessions, and first what was remembered of them meanwhile."""
        lock_namespace(self.namespace)
        self.erase(from_sessions(self.namespace, sessions))
        self._hand_over()
        self.erased += erase_sessions(self.namespace, sessions)
        have_let_go(self.namespace)

    @transaction.atomic
    def _hand_over(self) -> None:
        """Leave what others have said too to them."""
        assert self.user is not None
        lock_namespace(self.namespace)
        left = of_user(self.namespace, self.user)
        self.erased["memories handed over"] += hand_over(self.namespace, left, self.user)

    def _delete(self, ids: Sequence[UUID]) -> None:
        """Delete memories and the rows that refer to them."""
        for reference in HANGING:
            rows = reference.model._default_manager.filter(
                **{"namespace": self.namespace, f"{reference.id_name}__in": ids}
            )
            gone = rows.erase() if isinstance(rows, ImmutableQuerySet) else rows.delete()[0]
            self.erased[str(reference.model._meta.verbose_name_plural)] += gone
        self.erased["memories"] += Memory.objects.within(self.namespace).filter(id__in=ids).delete()[0]


def have_let_go(namespace: Namespace) -> None:
    """Have every process read anew what it holds of a namespace, names and vectors, when it next needs them."""
    NamespaceStatistics.objects.filter(namespace=namespace).update(epoch=F("epoch") + 1)


def pieces(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    """Cut a list into parts that fit into one transaction."""
    return (ids[start : start + TOGETHER] for start in range(0, len(ids), TOGETHER))
