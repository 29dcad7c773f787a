"""The background look at what is stored, step by step."""

from memories.contracts.work import Step
from memories.maintenance.archival import archival
from memories.maintenance.backfill import backfill
from memories.maintenance.clusters import clusters
from memories.maintenance.consolidation import consolidation
from memories.maintenance.contradictions import contradictions
from memories.maintenance.drift import drift
from memories.maintenance.reconnection import reconnection
from memories.maintenance.succession import succession

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
