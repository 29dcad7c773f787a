"""Pairs drawn over all cosines for a person to judge: what the thresholds decide unseen is judged nowhere else."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest

from memories.models import Memory, Namespace, ReviewItem
from memories.models.choices import Status
from memories.pages.dedup.nearest import Near
from memories.pages.dedup.survey import LEAST, known

DRAWN = 20  # pairs at a time
WIDE = 0.05  # cosines that count as alike
REASON = "drawn to be judged, whatever the thresholds say"


def draw(namespace: Namespace) -> int:
    """Lay pairs that nobody has looked at into the queue, evenly from all cosines; tell how many."""
    survey = known(namespace, patient=True)
    assert survey is not None
    seen = set(ReviewItem.objects.within(namespace).values_list("first_id", "second_id"))
    # What is kept apart whatever its cosine says nothing about a threshold.
    near = [pair.near for pair in survey.pairs if pair.near.cosine >= LEAST and not pair.reasons]
    drawn = list(islice(spread([one for one in near if (one.first, one.second) not in seen]), DRAWN))
    there = Memory.objects.within(namespace).filter(status=Status.ACTIVE)
    active = set(there.filter(id__in=[id for one in drawn for id in one[:2]]).values_list("id", flat=True))
    items = [
        ReviewItem(namespace=namespace, first_id=one.first, second_id=one.second, cosine=one.cosine, reason=REASON)
        for one in drawn
        if active.issuperset(one[:2])
    ]
    ReviewItem.objects.bulk_create(items, ignore_conflicts=True)
    return len(items)


def spread(pairs: Sequence[Near]) -> Iterator[Near]:
    """Pairs in turn from the nearest to the farthest, and round again."""
    alike: dict[int, list[Near]] = defaultdict(list)
    for pair in pairs:
        alike[int(pair.cosine / WIDE)].append(pair)
    rounds = zip_longest(*(alike[place] for place in sorted(alike, reverse=True)))
    return (pair for pair in chain.from_iterable(rounds) if pair is not None)
