"""Answers as JSON, generated from the contracts by `manage.py generate_client_types`; do not edit."""

from typing import NotRequired, TypedDict


class AnswerProfileJson(TypedDict):
    """The ranking configuration of an answer."""

    name: str | None
    version: int | None
    system: str
    preset: str | None


class EntityReportJson(TypedDict):
    """An entity recognised in the query."""

    id: str
    surface: str
    confidence: float


class TimeWindowReportJson(TypedDict):
    """The time window that the query asks about."""

    start: str
    until: str
    cue: str


class ParsedReportJson(TypedDict):
    """What was recognised in the query."""

    entities: list[EntityReportJson]
    window: TimeWindowReportJson | None
    embedded: str
    intent_words: list[str]
    emphasis_words: list[str]


class ExplanationJson(TypedDict):
    """A node of a score's explanation: a named value and the operands it was computed from."""

    name: str
    value: float
    op: NotRequired[str]
    parts: NotRequired[list["ExplanationJson"]]


class WeightingReportJson(TypedDict):
    """What a system that adapts its weights to the query made of it."""

    intent: str
    half_life_hours: float
    emphasis: str
    intent_reason: str
    emphasis_reason: str
    weights: dict[str, float]


class PlanReportJson(ParsedReportJson):
    """The plan: retrievers, parameters, and what it was chosen by."""

    name: str
    retrievers: list[str]
    specificity: ExplanationJson | None
    reranker: str | None
    params: dict[str, bool | int | float | str]
    weighting: WeightingReportJson | None
    inert: dict[str, str]


class RetrieverHitJson(TypedDict):
    """A memory's rank in one retriever's list."""

    rank: int
    score: float
    contribution: float | None


class MemsenseExplainJson(TypedDict):
    """What a score of memsense is made of; for a session, also how its turns support it."""

    rrf_score: float
    memory_score: float
    memory_share: float
    found_by: list[str]
    neighbour_of: str | None
    anchor_share: float | None
    session_rrf_score: NotRequired[float]
    turn_support: NotRequired[float]
    supporting_turn_count: NotRequired[int]
    best_turn_found_by: NotRequired[list[str]]


class MmrSelectionJson(TypedDict):
    """How a result was selected by MMR."""

    step: int
    relevance: float
    redundancy: float
    nearest: str | None


class ResultJson(TypedDict):
    """A result; each system adds its own outputs."""

    id: str
    type: str
    level: str
    content: str
    user: str
    confidence: float
    age_days: float
    rank: int
    score: float
    retrievers: dict[str, RetrieverHitJson]
    rrf: NotRequired[float | None]
    freshness: NotRequired[float | None]
    access_boost: NotRequired[float | None]
    hybrid_score: NotRequired[float | None]
    semantic_norm: NotRequired[float | None]
    cluster_norm: NotRequired[float | None]
    recency_norm: NotRequired[float | None]
    importance_norm: NotRequired[float | None]
    usage_norm: NotRequired[float | None]
    quality_norm: NotRequired[float | None]
    decay_norm: NotRequired[float | None]
    graph_norm: NotRequired[float | None]
    evidence: NotRequired[float | None]
    final_score: NotRequired[float | None]
    composite: NotRequired[float | None]
    sim: NotRequired[float | None]
    conf: NotRequired[float | None]
    rec: NotRequired[float | None]
    util: NotRequired[float | None]
    fused: NotRequired[float | None]
    relevance: NotRequired[float | None]
    trust: NotRequired[float | None]
    age: NotRequired[float | None]
    utility: NotRequired[float | None]
    use: NotRequired[float | None]
    source: NotRequired[list[str]]
    rrf_score: NotRequired[float]
    found_by: NotRequired[list[str]]
    explain: NotRequired[MemsenseExplainJson | None]
    outdated: bool
    conflicts_with: NotRequired[list[str]]
    gone: NotRequired[bool]
    explanation: NotRequired[ExplanationJson]
    selection: NotRequired[MmrSelectionJson]


class ContextEntryJson(TypedDict):
    """A memory in the context for a prompt."""

    id: str
    type: str
    content: str
    user: str
    confidence: float
    age_days: float


class TimedOutJson(TypedDict):
    """A retriever that timed out or failed and was left out."""

    retriever: str
    reason: str


class NearestMissJson(TypedDict):
    """One of the best candidates that were not returned."""

    id: str
    type: str
    level: str
    content: str
    user: str
    confidence: float
    age_days: float
    score: float
    filtered_by: list[str]
    gone: NotRequired[bool]


class AnswerJson(TypedDict):
    """The results with their explanations, and what was left out."""

    trace: str | None
    profile: AnswerProfileJson
    plan: PlanReportJson
    results: list[ResultJson]
    context: dict[str, list[ContextEntryJson]]
    users_differ: bool
    filtered: dict[str, int]
    timed_out: list[TimedOutJson]
    tiebreak_applied: bool
    abstained: bool
    answer_probability: float
    low_confidence: bool
    reason: str
    nearest: list[NearestMissJson]
    as_of: str | None
    note: str
    took_ms: dict[str, float]


class TracedAnswerJson(AnswerJson):
    """An answer as served, without the text of memories forgotten since."""

    gone: list[str]


class ReplayAnswerJson(AnswerJson):
    """The answer of a replay."""

    replayed: bool
    live: list[str]
    changed: list[str]


class AgreementJson(TypedDict):
    """Rank agreement of two systems."""

    systems: list[str]
    kendall_tau: float | None
    rbo: float


class ComparisonJson(TypedDict):
    """Every system's answer, and the rank agreement of each pair."""

    answers: dict[str, AnswerJson]
    agreement: list[AgreementJson]


class ListRankJson(TypedDict):
    """A memory's rank in one retriever's full list."""

    rank: int | None
    score: float | None
    why: str


class ParamChangeJson(TypedDict):
    """A change of one parameter."""

    param: str
    before: bool | int | float | str
    after: bool | int | float | str
    fraction: float
    rank: int


class WhyNotJson(TypedDict):
    """Why a memory is not among the results."""

    rank: int | None
    exclusions: list[str]
    gates: list[str]
    retrievers: dict[str, ListRankJson]
    score: float | None
    needed: float | None
    change: ParamChangeJson | None
    tried: list[str]
    reason: str
