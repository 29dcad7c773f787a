"""What a judge says of close pairs: asked before a namespace is locked where asking takes long."""

from dataclasses import dataclass, field

import numpy as np
from django.conf import settings
from django.db import transaction

from memories.models import Memory, Namespace
from memories.providers.judge import Judge, Pair, judge
from memories.writing.drafting import drafted
from memories.writing.neighbours import nearest
from memories.writing.policy import policy_of
from memories.writing.preparing import Prepared
from memories.writing.resolving import Names
from scoring.dedup import band


@dataclass(frozen=True)
class Opinions:
    """A judge, and what it was asked already."""

    judge: Judge
    known: dict[Pair, bool | None] = field(default_factory=dict)

    @classmethod
    def on(cls, namespace: Namespace, ready: Prepared) -> "Opinions":
        """Ask a judge over the network about every pair that seems too close to call now; a local one answers later."""
        asked = judge(settings.RECALL_JUDGE)
        if not asked.remote:
            return cls(asked)
        pairs = list(dict.fromkeys(doubtful(namespace, ready)))
        return cls(asked, dict(zip(pairs, asked.same(pairs), strict=True)))

    def same(self, one: str, other: str) -> bool | None:
        """Whether two memories say the same; a pair that only came about meanwhile is for a person."""
        return self.known.get((one, other)) if self.judge.remote else self.judge.same([(one, other)])[0]


def doubtful(namespace: Namespace, ready: Prepared) -> list[Pair]:
    """The pairs of a new memory and an older one, stored or of the same batch, whose cosine decides nothing."""
    policy, texts = policy_of(namespace), [new.content for new in ready.news]

    def close(cosine: float) -> bool:
        return band(cosine, duplicate=policy.dedup_duplicate, escalate=policy.dedup_escalate) == "escalate"

    names = Names(namespace, ready.registry, namespace.now)
    named = [names.of_memory(new, found) for new, found in zip(ready.news, ready.named, strict=True)]
    drafts = [drafted(namespace, policy, *one) for one in zip(ready.news, named, strict=True)]
    with transaction.atomic():  # an index is told how to search for the time of a transaction
        near = nearest(namespace, ready.vectors, policy.dedup_escalate, drafts)
    ids = {one.memory for found in near for one in found if close(one.cosine)}
    stored = dict(Memory.objects.within(namespace).filter(id__in=ids).values_list("id", "content"))
    pairs = [
        (text, stored[one.memory])
        for text, found in zip(texts, near, strict=True)
        for one in found
        if one.memory in stored
    ]
    alike = ready.vectors @ ready.vectors.T
    later, earlier = np.nonzero(np.tril(alike >= policy.dedup_escalate, -1))
    pairs += [(texts[a], texts[b]) for a, b in zip(later, earlier, strict=True) if close(float(alike[a, b]))]
    return pairs
