"""Pairs that are too close to call, and the reviewer's decision."""

from uuid import UUID

from memories.models import Namespace, ReviewItem
from memories.models.choices import Verdict
from memories.writing.feedback import add_contradiction
from memories.writing.lock import lock_memories
from memories.writing.merge import merge_memories
from memories.writing.supersede import awaits_correction
from memories.writing.write_errors import NotFoundError, RefusedError


def decide_review(namespace: Namespace, review: UUID, verdict: Verdict, *, by: str) -> ReviewItem:
    """Apply a reviewer's verdict: merge the later into the earlier, keep both, or add a contradiction.

    A memory awaiting its correction becomes the survivor, so that the correction supersedes both.
    """
    items = ReviewItem.objects.within(namespace).filter(id=review)
    if (pair := items.values_list("first_id", "second_id").first()) is None:
        raise NotFoundError(review, "review")
    with lock_memories(namespace, *pair, by=by) as locked:
        item = items.get()
        if item.state != Verdict.PENDING:
            message = f"Review {review} was decided as {item.state} by {item.decided_by or 'an unknown reviewer'}."
            raise RefusedError(message, "already_decided")
        earlier, later = (locked.get_fact(memory) for memory in pair)
        match verdict:
            case Verdict.DUPLICATE:
                survivor, absorbed = sorted((earlier, later), key=lambda state: not awaits_correction(state.memory))
                merge_memories(locked, survivor, absorbed, f"judged a duplicate by {by} (cosine {item.cosine:.3f})")
            case Verdict.CONTRADICTION:
                add_contradiction(locked, earlier, later, reason=f"decided by {by}", cosine=item.cosine)
        return locked.record_verdict(earlier, later, verdict, cosine=item.cosine)
