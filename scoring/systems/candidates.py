"""How candidates are found: what the retrievers of several systems have in common."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from scoring.params import Params, Rule, choice, not_all_zero, number

_TABLE = "000 All Thresholds in One Place"
_bm25 = partial(number, group="Words", scope="candidates", seed="000 BM25 Scoring")
_time = partial(number, group="Time", scope="candidates")
_words = partial(number, group="Reranking", scope="candidates", seed="ours")
_graph = partial(number, group="Paths", low=0, high=1, step=0.01, scope="candidates", seed="000 Hop score decay")
_plan = partial(number, group="Plan", scope="candidates")
_specific = partial(number, group="Plan", low=0, high=1, step=0.01, scope="candidates", seed="000 Query Specificity")


asked_of_each = partial(
    number,
    affects="candidates asked of each retriever",
    group="Candidates",
    low=10,
    high=500,
    step=10,
    scope="candidates",
)


@dataclass(frozen=True)
class Pool(Params):
    """How many candidates each retriever is asked for."""

    pool: int = asked_of_each(100, seed="ours: the papers name no pool")


@dataclass(frozen=True)
class WordMatch(Params):
    """How the reranker matches the words of a query one by one."""

    word_power: float = _words(1.5, "how much a good match counts more than two fair ones", low=1, high=4, step=0.1)
    word_before: float = _words(0.95, "what a word counts that stands in the turn before", low=0, high=1, step=0.05)
    word_window: int = _words(
        128, "words of a long memory that are matched together", low=16, high=512, step=16, unit="words"
    )
    word_met: float = _words(0.6, "how like a word must be to be met", low=0, high=1, step=0.05)
    stop_weight: float = _words(0.5, "what a common word tells", low=0, high=3, step=0.1)


@dataclass(frozen=True)
class FiveRetrievers(WordMatch, Pool):
    """What decides which memories the five retrievers of the paper find, and in which order."""

    bm25_k1: float = _bm25(1.2, "how soon repeated words stop counting", low=0, high=3, step=0.05)
    bm25_b: float = _bm25(0.75, "how much long memories are held back", low=0, high=1, step=0.01)
    lexical: str = choice(
        "bm25",
        "which formula ranks by words",
        options=("bm25", "ts_rank_cd"),
        group="Words",
        scope="candidates",
        seed="000 BM25 Scoring",
    )
    mention_weight: float = number(
        0.6,
        "a mention against a subject",
        group="Entities",
        low=0,
        high=1,
        step=0.05,
        scope="candidates",
        seed="ours: the paper scores subjects only",
    )
    temporal_sigma: float = _time(1.0, "how wide a window's edge is", low=0.1, high=5, step=0.1, seed="000 Notation")
    temporal_floor: float = _time(
        0.01, "below this, a moment is not found", low=0, high=0.5, step=0.01, seed="ours: the paper has no floor"
    )
    hop_1: float = _graph(1.0, "an immediate neighbour")
    hop_2: float = _graph(0.6, "two hops away")
    hop_3: float = _graph(0.35, "three hops away")
    max_hops: int = _graph(3, "how far paths go", low=1, high=3, step=1)


@dataclass(frozen=True)
class Planned(FiveRetrievers):
    """When a query calls for which plan."""

    reranker: str = choice(
        "plan",
        "whether words are matched one by one",
        options=("plan", "on", "off"),
        group="Plan",
        scope="candidates",
        seed="000 Query Specificity",
    )
    rerank_top: int = number(
        50,
        "how many a cross-encoder reads, where one is configured",
        group="Plan",
        low=1,
        high=500,
        step=1,
        scope="candidates",
        seed="ours",
    )
    specificity_entities: float = _specific(0.35, "entities in specificity")
    specificity_time: float = _specific(0.25, "time in specificity")
    specificity_rarity: float = _specific(0.25, "rare words in specificity")
    specificity_type: float = _specific(0.15, "type cues in specificity")
    precise_from: float = _plan(0.8, "from here a query is precise", low=0.7, high=0.9, step=0.01, seed=_TABLE)
    exploratory_below: float = _plan(0.4, "below this a query explores", low=0.3, high=0.5, step=0.01, seed=_TABLE)
    entity_above: float = _plan(0.85, "above this an entity leads the plan", low=0.7, high=0.9, step=0.01, seed=_TABLE)
    window_from: float = _plan(
        0.7,
        "from here a time leads the plan",
        low=0.1,
        high=1,
        step=0.1,
        seed="ours: the paper says “precise window”",
    )
    entity_plan_weight: float = _plan(
        2.0, "the entity weight of its plan", low=0, high=3, step=0.05, seed="000 Default retriever weights"
    )
    temporal_plan_weight: float = _plan(
        1.5, "the time weight of its plan", low=0, high=3, step=0.05, seed="000 Default retriever weights"
    )
    precise_top_k: int = _plan(5, "how many a precise query gets", low=1, high=50, step=1, seed="000 Query Specificity")

    rules: ClassVar[tuple[Rule, ...]] = (
        not_all_zero("specificity_entities", "specificity_time", "specificity_rarity", "specificity_type"),
    )
