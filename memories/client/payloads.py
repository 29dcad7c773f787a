"""Types of requests and of responses other than answers, as far as programs rely on them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

DateTimeLike = datetime | str
OutcomeName = Literal["stored", "merged", "escalated", "rejected"]


class FieldError(TypedDict):
    """One invalid field of a request."""

    at: str
    message: str


class MemoryOptions(TypedDict, total=False):
    """Optional fields of a memory to remember."""

    type: str
    subject: str
    predicate: str
    object: str
    source_level: Literal["direct", "confirmation", "strong_inference", "weak_inference", "speculation"]
    sources: Sequence[Mapping[str, Any]]
    turn: str
    extractor: Mapping[str, Any]
    entities: Sequence[str]
    tags: Sequence[str]
    kind: str
    user: str
    agent: str
    session: str
    source: str
    evidence: str
    importance: float
    quality: float
    memory_score: float
    provenance_depth: int
    created_at: DateTimeLike
    happened_at: DateTimeLike
    event_at: DateTimeLike
    event_until: DateTimeLike
    valid_from: DateTimeLike
    valid_until: DateTimeLike
    metadata: Mapping[str, Any]


class QueryOptions(TypedDict, total=False):
    """Optional fields of a query."""

    top_k: int
    types: Sequence[str]
    tags: Sequence[str]
    users: Sequence[str]
    levels: Sequence[str]
    user: str
    session: str
    as_of: DateTimeLike
    on_low_confidence: Literal["abstain", "flag"]


class RankingOptions(QueryOptions, total=False):
    """Optional fields of a query with its ranking configuration."""

    system: str
    preset: str
    profile: str
    params: Mapping[str, Any]


class RetrieveOptions(RankingOptions, total=False):
    """Optional fields of a retrieval, including the response format."""

    explain: Literal["none", "parts", "full"]
    record: bool
    token_budget: int


class ReplayOptions(TypedDict, total=False):
    """The configuration of a replay."""

    system: str
    params: Mapping[str, Any]
    explain: Literal["none", "parts", "full"]


class TraceFilters(TypedDict, total=False):
    """Filters of the trace list."""

    q: str
    system: str
    abstained: bool
    slower_than: int
    best_below: float
    requested_by: str
    since: DateTimeLike
    until: DateTimeLike
    limit: int


class TurnInput(TypedDict):
    """One utterance."""

    role: str
    text: str
    speaker: NotRequired[str]
    said_at: NotRequired[DateTimeLike]
    metadata: NotRequired[Mapping[str, Any]]
    position: NotRequired[int]


class ConversationOptions(TypedDict, total=False):
    """Optional fields of a conversation."""

    user: str
    agent: str
    title: str
    source: str
    extract: bool


class MemoryJson(TypedDict):
    """A stored memory; the response has more fields."""

    id: str
    type: str
    status: str
    content: str
    confidence: float
    tags: list[str]
    metadata: dict[str, Any]


class MemoryChangeJson(TypedDict):
    """A memory after a change."""

    memory: MemoryJson
    explanation: dict[str, Any]
    scores: dict[str, dict[str, Any]]


class OutcomeJson(MemoryChangeJson):
    """The outcome of a write."""

    outcome: OutcomeName
    reason: str


class CorrectionJson(OutcomeJson):
    """The outcome of a correction, and the corrected memory."""

    corrected: MemoryJson


class BatchItemJson(TypedDict):
    """The outcome of one item of a batch."""

    outcome: OutcomeName | Literal["refused"]
    reason: NotRequired[str]
    memory: NotRequired[MemoryJson]
    explanation: NotRequired[dict[str, Any]]
    scores: NotRequired[dict[str, dict[str, Any]]]
    problems: NotRequired[list[FieldError]]


class TraceRowJson(TypedDict):
    """One row of the trace list."""

    id: str
    at: str
    query: str
    system: str
    profile: dict[str, Any]
    abstained: bool
    best_score: float | None
    results: int
    took_ms: float
    requested_by: str  # agent or person


class IngestJson(TypedDict):
    """The outcome of an ingested conversation."""

    session: str
    turns: list[dict[str, Any]]
    memories: list[dict[str, Any]]
    chunks: list[dict[str, Any]]


class EvaluationTarget(TypedDict, total=False):
    """A judgement set, a ranking configuration and a metric."""

    set: str
    system: str
    profile: str
    metric: str


class SensitivityOptions(EvaluationTarget, total=False):
    """Options of a sensitivity analysis."""

    split: str
    param: str


class EvaluationOptions(EvaluationTarget, total=False):
    """Options of an evaluation."""

    split: str
    params: Mapping[str, Any]
    against: Mapping[str, Any]
    record: bool
    refresh: bool


class EvaluationFilters(TypedDict, total=False):
    """Filters of the evaluation list."""

    set: str
    version: str
    limit: int


class OptimiseOptions(EvaluationTarget, total=False):
    """Options of a parameter search."""

    params: Mapping[str, Any]
    move: Sequence[str]
    price: float
    against: str
    max_trials: int
    seconds: int
    seed: int


class MetricJson(TypedDict):
    """A mean over queries with its 95 % confidence interval."""

    mean: float
    low: float
    high: float
    queries: int


class EvaluationJson(TypedDict):
    """The metrics of a configuration."""

    evaluation: str | None
    set: str
    split: str
    system: str
    params: dict[str, Any]
    metrics: dict[str, MetricJson]
    categories: list[dict[str, Any]]
    unjudged: float
    against: dict[str, Any] | None
    traced_at: str
    written_since: int
    took_ms: float


class EvaluationRowJson(TypedDict):
    """A stored evaluation; the response has more fields."""

    id: str
    system: str
    params: dict[str, Any]
    profile_version_id: str | None
    judgement_set_id: str
    split: str
    metrics: dict[str, MetricJson]
    created_at: str


class SensitivityJson(TypedDict):
    """Sensitivity of a metric to each parameter."""

    metric: str
    current: float
    curves: list[dict[str, Any]]
    left: list[str]
    needs_new_query: list[str]


class AblationJson(TypedDict):
    """Ablation of a system's retrievers."""

    metric: str
    mean: float
    queries: int
    relevant: int
    retrievers: list[dict[str, Any]]
    overlap: list[list[float | None]]


class JobJson(TypedDict):
    """A background job; the response has more fields."""

    id: str
    kind: str
    state: str
    share: float
    params: dict[str, Any]
    result: dict[str, Any]
    error: str


class ProfileVersionJson(TypedDict):
    """One version of a profile; the response has more fields."""

    id: str
    profile: str
    number: int
    state: str
    serving: bool
    system: str
    params: dict[str, Any]
    parent: str | None
    changes: list[str]


class PublicationJson(TypedDict):
    """The current publication."""

    id: str
    profile_version: str | None
    note: str
    published_at: str


class ProfilesJson(TypedDict):
    """The newest versions, and the current publication."""

    serving: PublicationJson | None
    results: list[ProfileVersionJson]
