"""Storing new memories: prepare, lock, decide, flush, one outcome each."""

from collections.abc import Iterable, Sequence

from django.conf import settings
from django.db import connection, transaction
from django.db.models import prefetch_related_objects

from memories.contracts.new_memory import NewMemory
from memories.db import counters
from memories.models import Namespace
from memories.providers.judge import judge
from memories.writing.batch import WriteBatch
from memories.writing.decide import JudgeVerdicts, Outcome, decide_outcome
from memories.writing.lock import lock_namespace
from memories.writing.prepare import PreparedMemories, prepare_ahead, prepare_memories

BATCH_SIZE = 125  # memories per transaction: large enough to be cheap, small enough to let others write


def remember(
    namespace: Namespace, new_memories: Sequence[NewMemory], *, by: str, dry_run: bool = False
) -> list[Outcome]:
    """Store new memories; one outcome each, in order.

    A dry run does everything and rolls back.
    """
    if not new_memories:
        return []
    # A dry run is one transaction, or its second part would not see its first. Inside a caller's transaction, the first
    # part would hold the lock while a remote judge is called for the second.
    judge_in_transaction = connection.in_atomic_block and judge(settings.RECALL_JUDGE).remote
    if len(new_memories) <= BATCH_SIZE or dry_run or judge_in_transaction:
        return write_batch(namespace, prepare_memories(namespace, new_memories), by, dry_run)
    parts = [new_memories[start : start + BATCH_SIZE] for start in range(0, len(new_memories), BATCH_SIZE)]
    prepared_parts: Iterable[PreparedMemories] = prepare_ahead(namespace, parts)
    if connection.in_atomic_block:
        # Otherwise the first part would hold the lock while the others are embedded.
        prepared_parts = list(prepared_parts)
    return [outcome for prepared in prepared_parts for outcome in write_batch(namespace, prepared, by, dry_run)]


def write_batch(
    namespace: Namespace, prepared: PreparedMemories, by: str, dry_run: bool, verdicts: JudgeVerdicts | None = None
) -> list[Outcome]:
    """Write memories in one transaction under the namespace lock; a caller that holds it passes the verdicts."""
    verdicts = verdicts or JudgeVerdicts.collect(namespace, prepared)
    with transaction.atomic():
        lock_namespace(namespace)
        batch = WriteBatch.load(namespace, prepared, by)
        outcomes = [decide_outcome(batch, verdicts, index) for index in range(len(prepared.new_memories))]
        batch.flush()
        # Prefetched once for all renderers, and before a dry run rolls back.
        without_tags = [outcome.memory for outcome in outcomes if outcome.memory.given_tags is None]
        prefetch_related_objects(without_tags, "tags")
        transaction.set_rollback(dry_run)
        transaction.on_commit(lambda: counters.count_outcomes(outcome.outcome for outcome in outcomes))
    return outcomes
