"""One query under several configurations, and the agreement of their rankings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from memories.contracts.answer import Agreement
from memories.retrieval.parse import understand
from memories.retrieval.query import Config, Query
from memories.retrieval.retrieve import Retrieval, retrieve
from scoring.metrics import kendall_tau, rank_biased_overlap

PERSISTENCE = 0.9  # p of rank-biased overlap


def compare_systems(query: Query, configs: Mapping[str, Config]) -> dict[str, Retrieval]:
    """Retrieve with each configuration; the query is parsed once."""
    parsed = understand(query)
    return {name: retrieve(replace(query, config=config), parsed) for name, config in configs.items()}


def ranking_agreement(rankings: Mapping[str, Sequence[str]]) -> list[Agreement]:
    """Kendall's τ and rank-biased overlap of each pair of rankings."""
    return [
        Agreement(
            [first, second],
            kendall_tau(rankings[first], rankings[second]),
            rank_biased_overlap(rankings[first], rankings[second], PERSISTENCE),
        )
        for first, second in combinations(rankings, 2)
    ]
