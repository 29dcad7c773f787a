"""Pairs too close to call, and what a person makes of them."""

from uuid import UUID

from memories.models import Namespace, ReviewItem
from memories.models.choices import Verdict
from memories.writing.acts import disagree
from memories.writing.held import Held, held
from memories.writing.merging import absorb
from memories.writing.refusal import AbsentError, RefusedError
from memories.writing.standing import Standing
from memories.writing.succession import awaits


def decide(namespace: Namespace, review: UUID, verdict: Verdict, *, by: str) -> ReviewItem:
    """Do what a person says of a pair: merge the later into the earlier, let both be, or set one against the other.

    What awaits its correction absorbs what says the same, so that both end with it.
    """
    items = ReviewItem.objects.within(namespace).filter(id=review)
    if (pair := items.values_list("first_id", "second_id").first()) is None:
        raise AbsentError(review, "review")
    with held(namespace, *pair, by=by) as hold:
        item = items.get()
        if item.state != Verdict.PENDING:
            told = f"Review {review} was decided as {item.state} by {item.decided_by or 'nobody known'}."
            raise RefusedError(told, "already_decided")
        earlier, later = (hold.take_fact(memory) for memory in pair)
        match verdict:
            case Verdict.DUPLICATE:
                kept, gone = sorted((earlier, later), key=lambda one: not awaits(one.memory))
                absorb(hold, kept, gone, f"found the same by {by} (cosine {item.cosine:.3f})")
            case Verdict.CONTRADICTION:
                disagree(hold, earlier, later, reason=f"so decided by {by}", cosine=item.cosine)
        return note_verdict(hold, earlier, later, verdict, cosine=item.cosine)


def note_verdict(
    hold: Held, one: Standing, other: Standing, verdict: Verdict, *, cosine: float, reason: str = ""
) -> ReviewItem:
    """Keep what was decided of a pair; a later verdict takes the place of an earlier one."""
    first, second = sorted((one.memory.id, other.memory.id))
    decided = {"state": verdict, "decided_at": hold.now, "decided_by": hold.by}
    told = decided | ({"reason": reason} if reason else {})
    fresh = told | {"cosine": min(max(cosine, -1.0), 1.0), "created_at": hold.now}
    item, _ = ReviewItem.objects.update_or_create(
        namespace=hold.namespace, first_id=first, second_id=second, defaults=told, create_defaults=fresh
    )
    return item
