"""Judge verdicts on near duplicates; a remote judge is called before the namespace is locked."""

from dataclasses import dataclass, field

import numpy as np
from django.conf import settings
from django.db import transaction

from memories.models import Memory, Namespace
from memories.providers.judge import Judge, Pair, judge
from memories.writing.memory_draft import draft_memory
from memories.writing.neighbours import nearest_memories
from memories.writing.prepare import PreparedMemories
from memories.writing.resolve_entities import EntityResolver
from memories.writing.write_policy import current_write_policy
from scoring.dedup import similarity_band


@dataclass(frozen=True)
class JudgeVerdicts:
    """A judge and the verdicts it has already given."""

    judge: Judge
    known: dict[Pair, bool | None] = field(default_factory=dict)

    @classmethod
    def collect(cls, namespace: Namespace, prepared: PreparedMemories) -> "JudgeVerdicts":
        """Ask a remote judge about every undecided pair up front; a local judge answers on demand."""
        selected = judge(settings.RECALL_JUDGE)
        if not selected.remote:
            return cls(selected)
        pairs = list(dict.fromkeys(pairs_to_judge(namespace, prepared)))
        return cls(selected, dict(zip(pairs, selected.same(pairs), strict=True)))

    def same(self, one: str, other: str) -> bool | None:
        """Whether two memories say the same; None, for review, if a remote judge was not asked about the pair."""
        return self.known.get((one, other)) if self.judge.remote else self.judge.same([(one, other)])[0]


def pairs_to_judge(namespace: Namespace, prepared: PreparedMemories) -> list[Pair]:
    """Pairs of a new and an earlier memory, stored or of the batch, in the escalation band."""
    policy, texts = current_write_policy(namespace), [new.content for new in prepared.new_memories]

    def undecided(cosine: float) -> bool:
        return similarity_band(cosine, duplicate=policy.dedup_duplicate, escalate=policy.dedup_escalate) == "escalate"

    resolver = EntityResolver(namespace, prepared.registry, namespace.now)
    resolved = [
        resolver.resolve_memory(new, hits) for new, hits in zip(prepared.new_memories, prepared.mentions, strict=True)
    ]
    drafts = [draft_memory(namespace, policy, *item) for item in zip(prepared.new_memories, resolved, strict=True)]
    with transaction.atomic():  # SET LOCAL needs a transaction
        neighbours = nearest_memories(namespace, prepared.vectors, policy.dedup_escalate, drafts)
    ids = {item.memory for hits in neighbours for item in hits if undecided(item.cosine)}
    stored = dict(Memory.objects.within(namespace).filter(id__in=ids).values_list("id", "content"))
    pairs = [
        (text, stored[item.memory])
        for text, hits in zip(texts, neighbours, strict=True)
        for item in hits
        if item.memory in stored
    ]
    cosines = prepared.vectors @ prepared.vectors.T
    later, earlier = np.nonzero(np.tril(cosines >= policy.dedup_escalate, -1))
    pairs += [(texts[a], texts[b]) for a, b in zip(later, earlier, strict=True) if undecided(float(cosines[a, b]))]
    return pairs
