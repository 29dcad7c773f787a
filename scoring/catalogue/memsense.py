"""Source 003, Memsense's “Retrieval Algorithm”."""

from functools import partial

import numpy as np

from scoring import diversity, fusion
from scoring.catalogue.entry import CatalogueSource, Formula, PrintedValue, constants
from scoring.signals import MEMSENSE_RETRIEVERS, Signals
from scoring.systems import memsense
from scoring.systems.memsense import MemsenseParams

_params = MemsenseParams()


def _limit(top_k: int) -> int:
    return fusion.candidate_limit(top_k, _params.limit_factor, _params.limit_least)


def _pool(top_k: int) -> int:
    return fusion.retriever_pool(_limit(top_k), _params.route_widening, _params.route_least)


def _first_in_one_list() -> float:
    signals = Signals(ids=np.array(["a"]), ranks={"vec_full": np.array([1.0])})
    return float(memsense.memsense_rrf(signals, _params).value[0])


SOURCE = CatalogueSource(
    number="003",
    title="Memsense: Retrieval Algorithm",
    system="memsense",
    formulas=(
        Formula(
            "Candidates per route",
            "Step 1",
            fusion.retriever_pool,
            (constants(MemsenseParams, {"route_widening": "2", "route_least": "40"}),),
            (
                PrintedValue("8", "retrievers", lambda: len(MEMSENSE_RETRIEVERS)),
                PrintedValue("64", "at top 5", partial(_pool, 5), derived=True),
                PrintedValue("80", "at top 10", partial(_pool, 10), derived=True),
            ),
            symbols="k the requested number of results",
        ),
        Formula(
            "Candidates before selection",
            "Step 1",
            fusion.candidate_limit,
            (constants(MemsenseParams, {"limit_factor": "4", "limit_least": "32"}),),
            (
                PrintedValue("32", "at top 5", partial(_limit, 5)),
                PrintedValue("40", "at top 10", partial(_limit, 10), derived=True),
            ),
            note="The best by fused score, before the memory score is added.",
            symbols="k the requested number of results",
        ),
        Formula(
            "Fusion of routes",
            "Step 2",
            memsense.memsense_rrf,
            (constants(MemsenseParams, {"rrf_k": "15"}),),
            (PrintedValue("0.0625", "rank 1 in one list", _first_in_one_list, derived=True),),
        ),
        Formula(
            "Final score",
            "Step 3",
            memsense.score,
            (constants(MemsenseParams, {"memory_weight": "0.1", "turn_cap": "0.12", "turn_share": "0.6"}),),
            note="Without a memory score, confidence is used (ours).",
        ),
        Formula(
            "Redundancy",
            "Step 4",
            diversity.redundancy,
            (constants(MemsenseParams, {"tag_share": "0.35"}),),
            (
                PrintedValue(
                    "0.35",
                    "identical tags, cosine 0",
                    lambda: float(diversity.redundancy(np.asarray(0.0), 1.0, 0.35)),
                ),
            ),
        ),
        Formula("Tag overlap", "Step 4", diversity.jaccard),
        Formula(
            "Selection",
            "Step 4",
            memsense.order,
            (constants(MemsenseParams, {"mmr_lambda": "0.78", "duplicate": "0.94"}),),
            note="On the raw final score; a candidate as redundant as the duplicate threshold is skipped.",
            symbols="λ relevance against novelty, S the selected memories",
        ),
        Formula(
            "Neighbour expansion",
            "Retrieval pipeline",
            memsense.with_neighbours,
            (constants(MemsenseParams, {"neighbour_share": "0.5"}),),
            note=(
                "Only without session chunks. The text names the step and no rule (ours): each selected chunk brings "
                "the one before and the one after it in its session. They follow the selected, in the order of their "
                "anchors, and do not count towards k. One that a retriever found keeps its own final score; any other "
                "gets half of its anchor's."
            ),
            symbols="S the selected chunks",
        ),
    ),
)
