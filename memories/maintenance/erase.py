"""Erasure: memories, everything that contains them, and everything derived from them, for good."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q

from memories.maintenance.erase_records import erase_records, erase_user_records
from memories.maintenance.erasure_scope import (
    chunks_with_turns,
    exclusive_turns,
    session_memories,
    user_memories,
    with_dependents,
)
from memories.maintenance.orphans import (
    answered_queries,
    erase_sessions,
    erase_sources,
    erase_turns,
    erase_unanswered_queries,
    erase_unreferenced_entities,
    recentre_clusters,
    referenced_entities,
)
from memories.maintenance.redaction import Redaction, redact_history, redact_jobs
from memories.maintenance.survivors import (
    archive_replaced,
    hand_over_memories,
    recompute_evidence,
    remove_inherited_metadata,
)
from memories.models import Memory, Namespace, NamespaceStatistics, Session
from memories.models.choices import Status
from memories.models.immutable import ImmutableQuerySet
from memories.models.references import Reference
from memories.writing import search_index
from memories.writing.lock import lock_namespace

BATCH_SIZE = 500  # memories per transaction: traces are scanned once for all, and others can write in between
# The rows the database would cascade to; deleted explicitly so that they are counted.
CASCADES = [
    relation.field
    for relation in Memory._meta.related_objects
    if isinstance(relation.field, Reference) and relation.field.cascade and relation.related_model is not Memory
]


@dataclass
class Erasure:
    """An erasure of a namespace's memories, and how many rows of each kind it has erased.

    Every batch is one transaction, and dependents go first: an interrupted erasure is completed by repeating it.
    """

    namespace: Namespace
    user: str | None = None  # whose data is erased
    with_turns: bool = False
    erased: Counter[str] = field(default_factory=Counter)

    def erase(self, ids: Sequence[UUID]) -> None:
        """Erase memories and their dependents."""
        for batch in id_batches(ids):
            # Dependents first; many of them take several batches.
            for dependents in id_batches(with_dependents(self.namespace, batch, self.user)[::-1]):
                self._erase_batch(dependents)

    def erase_user(self) -> None:
        """Erase a user's memories, sessions, turns and records."""
        assert self.user is not None
        self.erase(user_memories(self.namespace, self.user))
        self._hand_over()
        sessions = Session.objects.within(self.namespace).filter(user=self.user).order_by("id")
        for batch in id_batches(list(sessions.values_list("id", flat=True))):
            self._erase_sessions(batch)
        self._erase_statements()
        self.erased += erase_user_records(self.namespace, self.user)

    @transaction.atomic
    def _erase_batch(self, batch: Sequence[UUID]) -> None:
        """Erase some memories and everything that contains them, under the namespace's lock."""
        lock_namespace(self.namespace)
        namespace, ids = self.namespace, with_dependents(self.namespace, batch, self.user)
        turns = exclusive_turns(namespace, ids) if self.with_turns else []
        ids = with_dependents(namespace, [*ids, *chunks_with_turns(namespace, turns)], self.user)
        memories = list(Memory.objects.within(namespace).filter(id__in=ids))
        clusters = {memory.cluster_id for memory in memories if memory.cluster_id}
        # A cluster's label quotes its members.
        redaction = Redaction.of([*ids, *clusters], [memory.content for memory in memories])
        active = [memory.id for memory in memories if memory.status == Status.ACTIVE]
        self.erased["postings"] += search_index.hide_memories(namespace, active)
        self.erased["events redacted"] += redact_history(namespace, ids, redaction)
        self.erased["memories archived"] += archive_replaced(namespace, ids)
        self.erased += erase_records(namespace, ids)
        self.erased["jobs redacted"] += redact_jobs(namespace, redaction)
        queries, entities = answered_queries(namespace, ids), referenced_entities(namespace, ids)
        merge_targets = {memory.merged_into_id for memory in memories if memory.merged_into_id} - set(ids)
        remove_inherited_metadata(namespace, merge_targets, memories)
        self._delete(ids)
        # Merged memories were part of their target's evidence.
        self.erased["memories recomputed"] += recompute_evidence(namespace, merge_targets)
        recentre_clusters(namespace, clusters)
        self.erased["judged queries"] += erase_unanswered_queries(namespace, queries)
        # Explicitly registered names go only with the user.
        unreferenced = erase_unreferenced_entities(namespace, entities, registered=self.user is not None)
        self.erased["entities"] += len(unreferenced)
        self.erased["jobs redacted"] += redact_jobs(namespace, Redaction.of(unreferenced, ()))
        self.erased += erase_turns(namespace, turns) if turns else Counter()
        invalidate_caches(namespace)

    @transaction.atomic
    def _erase_sessions(self, sessions: Sequence[UUID]) -> None:
        """Erase sessions, after the memories that have come from them meanwhile."""
        lock_namespace(self.namespace)
        self.erase(session_memories(self.namespace, sessions))
        self._hand_over()
        self.erased += erase_sessions(self.namespace, sessions)
        invalidate_caches(self.namespace)

    @transaction.atomic
    def _hand_over(self) -> None:
        """Hand memories that other users stated as well over to them."""
        assert self.user is not None
        lock_namespace(self.namespace)
        shared = user_memories(self.namespace, self.user)
        self.erased["memories handed over"] += hand_over_memories(self.namespace, shared, self.user)

    @transaction.atomic
    def _erase_statements(self) -> None:
        """Erase the user as a source of memories that others own."""
        lock_namespace(self.namespace)
        self.erased += erase_sources(self.namespace, Q(source=self.user))

    def _delete(self, ids: Sequence[UUID]) -> None:
        """Delete memories and the rows that refer to them."""
        for reference in CASCADES:
            rows = reference.model._default_manager.filter(
                **{"namespace": self.namespace, f"{reference.id_name}__in": ids}
            )
            count = rows.erase() if isinstance(rows, ImmutableQuerySet) else rows.delete()[0]
            self.erased[str(reference.model._meta.verbose_name_plural)] += count
        self.erased["memories"] += Memory.objects.within(self.namespace).filter(id__in=ids).delete()[0]


def invalidate_caches(namespace: Namespace) -> None:
    """Invalidate the names and vectors that processes have cached of a namespace."""
    NamespaceStatistics.objects.filter(namespace=namespace).update(epoch=F("epoch") + 1)


def id_batches(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    """Slices of at most `BATCH_SIZE` ids."""
    return (ids[start : start + BATCH_SIZE] for start in range(0, len(ids), BATCH_SIZE))
