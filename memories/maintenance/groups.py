"""Which memories are alike enough to be summarised."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np
from django.db.models import Q
from django.db.models.functions import Coalesce

from memories.maintenance.fact_vectors import Vectors, vectors_of
from memories.models import Memory, Namespace
from memories.models.choices import ChunkLevel, Status
from memories.writing.comparison import memory_statement
from memories.writing.write_policy import current_write_policy
from scoring.contradiction import conflicts
from scoring.dedup import consolidation_groups

WHOM = Coalesce("subject_id", "subject_fallback")
TRIED = 3  # middles of a group, from the medoid on
LARGEST = 2_000  # memories of a subject that are compared; of more, the latest


class Home(NamedTuple):
    """What memories must share to be summarised together: nobody's summary tells what another user said."""

    subject: UUID
    user: str


@dataclass(frozen=True)
class Group:
    """Memories of a home that are alike, and the one in their middle."""

    home: Home
    members: tuple[Memory, ...]
    middle: Memory

    @property
    def ids(self) -> frozenset[UUID]:
        """Whom a summary of them must name."""
        return frozenset(one.id for one in self.members)


def alike(namespace: Namespace, homes: Sequence[Home]) -> tuple[list[Group], int]:
    """The groups that deserve a summary, and how many memories were too many to compare; three questions."""
    policy, places = current_write_policy(namespace), defaultdict(list)
    for memory, home in told_of(namespace, homes, ChunkLevel.FACT):
        places[home].append(memory)
    left_out = sum(max(0, len(told) - LARGEST) for told in places.values())
    ids, found = vectors_of(namespace, [memory for told in places.values() for memory in told[-LARGEST:]])
    rows = {memory: row for row, memory in enumerate(ids)}
    close: list[tuple[Home, list[int]]] = []
    for home, told in places.items():
        mine = [rows[memory] for memory in told if memory in rows]
        # Around a middle, and not by pairs: what all must be close to is the text that will speak for them.
        found_here = consolidation_groups(found[mine].astype(float), policy.consolidation) if mine else []
        enough = [members for members in found_here if len(members) >= policy.consolidation_members]
        close += [(home, [mine[place] for place in members]) for members in enough]
    wanted = {ids[row] for _, members in close for row in members}
    texts = {one.id: one for one in Memory.objects.within(namespace).filter(id__in=wanted)}
    groups = [grouped(home, [texts[ids[row]] for row in members], found[members]) for home, members in close]
    return [group for group in groups if len(group.members) >= policy.consolidation_members], left_out


def grouped(home: Home, members: Sequence[Memory], vectors: Vectors) -> Group:
    """The medoid and the memories that do not contradict it; where it is the odd one out, the next to it."""
    middles = np.argsort(-(vectors @ vectors.T).sum(axis=1), kind="stable")[:TRIED]
    groups = [
        Group(
            home,
            tuple(one for one in members if not conflicts(memory_statement(middle), memory_statement(one))),
            middle,
        )
        for middle in (members[place] for place in middles.tolist())
    ]
    return max(groups, key=lambda group: len(group.members))


def told_of(namespace: Namespace, homes: Sequence[Home], level: ChunkLevel) -> Iterator[tuple[UUID, Home]]:
    """The active memories of some homes in order, each with its home."""
    subjects, wanted = {home.subject for home in homes}, set(homes)
    active = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level=level)
    mine = active.filter(Q(subject_id__in=subjects) | Q(subject_fallback__in=subjects)).annotate(whom=WHOM)
    for memory, whom, user in mine.order_by("id").values_list("id", "whom", "user"):
        if Home(whom, user) in wanted:
            yield memory, Home(whom, user)
