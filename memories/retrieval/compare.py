"""One query by several systems side by side, and how far their rankings agree."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from memories.retrieval.parse import understand
from memories.retrieval.query import Config, Query
from memories.retrieval.retrieve import Retrieval, retrieve
from scoring.metrics import kendall_tau, rank_biased_overlap

PERSISTENCE = 0.9  # of a reader who goes on to the next rank, as RBO imagines one


def compare_systems(query: Query, configs: Mapping[str, Config]) -> dict[str, Retrieval]:
    """Ask each system as if it had been asked alone; the query is read once."""
    reading = understand(query)
    return {name: retrieve(replace(query, config=one), reading) for name, one in configs.items()}


def ranking_agreement(rankings: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Kendall's τ of what each two share, and how much their tops overlap."""
    return [
        {
            "systems": [one, other],
            "kendall_tau": kendall_tau(rankings[one], rankings[other]),
            "rbo": rank_biased_overlap(rankings[one], rankings[other], PERSISTENCE),
        }
        for one, other in combinations(rankings, 2)
    ]
