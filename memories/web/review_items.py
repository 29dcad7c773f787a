"""The pairs of the review queue, and a person's verdict on a pair."""

from typing import Any

from memories.models import Namespace, ReviewItem
from memories.models.choices import Status, Verdict
from memories.models.keys import NamespacedQuerySet
from memories.web.fields import OneOf
from memories.web.serializers import StrictObject


class DecisionSerializer(StrictObject):
    """A person's verdict."""

    verdict = OneOf(choices=[verdict for verdict in Verdict.values if verdict != Verdict.PENDING])


def review_items_with_memories(namespace: Namespace) -> NamespacedQuerySet[ReviewItem]:
    """Review items with both memories and their tags, in three SQL queries."""
    items = ReviewItem.objects.within(namespace).select_related("first", "second")
    return items.prefetch_related("first__tags", "second__tags")


def review_items(namespace: Namespace, state: str) -> NamespacedQuerySet[ReviewItem]:
    """The review items in a state; of pending ones only those whose memories are both active."""
    filters: dict[str, Any] = {"state": state}
    if state == Verdict.PENDING:
        filters |= {"first__status": Status.ACTIVE, "second__status": Status.ACTIVE}
    return review_items_with_memories(namespace).filter(**filters)
