"""The background look at what is stored, step by step."""

from memories.jobs.work import Step
from memories.reflecting.archival import archival
from memories.reflecting.backfill import backfill
from memories.reflecting.clusters import clusters
from memories.reflecting.consolidation import consolidation
from memories.reflecting.contradictions import contradictions
from memories.reflecting.drift import drift
from memories.reflecting.reconnection import reconnection
from memories.reflecting.succession import succession

# In this order: what has given way is looked at no more, and whom memories are about decides what can contradict or be
# summarised.
STEPS: dict[str, Step] = {
    "succession": succession,
    "reconnection": reconnection,
    "contradictions": contradictions,
    "consolidation": consolidation,
    "drift": drift,
    "archival": archival,
    "clusters": clusters,
    "backfill": backfill,
}
