"""What goes to the API and what comes back, as far as a program relies on it; the API's schema tells all of it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

Moment = datetime | str
Word = Literal["stored", "merged", "escalated", "rejected"]


class Error(TypedDict):
    """One place of a request, and what is wrong there."""

    at: str
    message: str


class NewMemory(TypedDict, total=False):
    """What may be told of a memory beside its content."""

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
    evidence: str
    importance: float
    quality: float
    memory_score: float
    provenance_depth: int
    created_at: Moment
    happened_at: Moment
    event_at: Moment
    event_until: Moment
    valid_from: Moment
    valid_until: Moment
    metadata: Mapping[str, Any]


class Asking(TypedDict, total=False):
    """What may be asked beside the query."""

    top_k: int
    types: Sequence[str]
    tags: Sequence[str]
    users: Sequence[str]
    levels: Sequence[str]
    user: str
    session: str
    as_of: Moment


class Ranking(Asking, total=False):
    """By what it is ranked."""

    system: str
    profile: str
    params: Mapping[str, Any]


class Retrieving(Ranking, total=False):
    """How it is told."""

    explain: Literal["none", "parts", "full"]
    record: bool
    token_budget: int


class Replaying(TypedDict, total=False):
    """What a trace is ranked by instead."""

    system: str
    params: Mapping[str, Any]
    explain: Literal["none", "parts", "full"]


class Tracing(TypedDict, total=False):
    """Which traces."""

    q: str
    system: str
    abstained: bool
    slower_than: int
    best_below: float
    asked_by: str
    since: Moment
    until: Moment
    limit: int


class NewTurn(TypedDict):
    """One utterance."""

    role: str
    text: str
    speaker: NotRequired[str]
    said_at: NotRequired[Moment]
    metadata: NotRequired[Mapping[str, Any]]
    position: NotRequired[int]


class Conversation(TypedDict, total=False):
    """What may be told of a conversation beside its turns."""

    user: str
    agent: str
    title: str
    extract: bool


class Memory(TypedDict):
    """A memory as it is stored; it holds more."""

    id: str
    type: str
    status: str
    content: str
    confidence: float
    tags: list[str]
    metadata: dict[str, Any]


class Change(TypedDict):
    """A memory after a change."""

    memory: Memory
    explanation: dict[str, Any]
    scores: dict[str, dict[str, Any]]


class Outcome(Change):
    """What became of a memory."""

    outcome: Word
    reason: str


class Corrected(Outcome):
    """What became of a correction, and of what it corrects."""

    corrected: Memory


class BatchItem(TypedDict):
    """What became of one of many."""

    outcome: Word | Literal["refused"]
    reason: NotRequired[str]
    memory: NotRequired[Memory]
    explanation: NotRequired[dict[str, Any]]
    scores: NotRequired[dict[str, dict[str, Any]]]
    problems: NotRequired[list[Error]]


class Result(TypedDict):
    """A memory that came back; it holds more."""

    id: str
    type: str
    content: str
    confidence: float
    age_days: float
    rank: int
    score: float
    outdated: bool
    conflicts_with: NotRequired[list[str]]
    gone: NotRequired[bool]
    explanation: NotRequired[dict[str, Any]]


class Answer(TypedDict):
    """What came back, and what did not."""

    trace: str | None
    profile: dict[str, Any]
    plan: dict[str, Any]
    results: list[Result]
    context: dict[str, list[dict[str, Any]]]
    filtered: dict[str, int]
    late: list[dict[str, str]]
    abstained: bool
    chance: float
    reason: str
    nearest: list[dict[str, Any]]
    took_ms: dict[str, float]


class Replayed(Answer):
    """The trace's candidates ranked again, or asked live."""

    replayed: bool
    live: list[str]
    changed: list[str]


class TraceRow(TypedDict):
    """One retrieval among others."""

    id: str
    at: str
    query: str
    system: str
    profile: dict[str, Any]
    abstained: bool
    best_score: float | None
    results: int
    took_ms: float
    asked_by: str  # agent or person


class Comparison(TypedDict):
    """Every system's answer, and how far they agree."""

    answers: dict[str, Answer]
    agreement: list[dict[str, Any]]


class WhyNot(TypedDict):
    """What kept a memory from coming back."""

    rank: int | None
    outside: list[str]
    gates: list[str]
    retrievers: dict[str, dict[str, Any]]
    score: float | None
    needed: float | None
    change: dict[str, Any] | None
    tried: list[str]
    reason: str


class Heard(TypedDict):
    """What became of a conversation."""

    session: str
    turns: list[dict[str, Any]]
    memories: list[dict[str, Any]]
    chunks: list[dict[str, Any]]


class OnSet(TypedDict, total=False):
    """On which judged queries, and ranked by what."""

    set: str
    system: str
    profile: str
    metric: str


class Sensing(OnSet, total=False):
    """Of which part, and which parameter alone."""

    part: str
    param: str


class Measuring(OnSet, total=False):
    """What to measure, and against what."""

    part: str
    params: Mapping[str, Any]
    against: Mapping[str, Any]
    record: bool
    ask: bool


class Evaluating(TypedDict, total=False):
    """Which evaluations."""

    set: str
    version: str
    limit: int


class Optimising(OnSet, total=False):
    """What to search."""

    params: Mapping[str, Any]
    move: Sequence[str]
    price: float
    against: str
    settings: int
    seconds: int
    seed: int


class Metric(TypedDict):
    """A mean over queries, and its 95 % interval."""

    mean: float
    low: float
    high: float
    queries: int


class Measured(TypedDict):
    """How good a setting is."""

    evaluation: str | None
    set: str
    part: str
    system: str
    params: dict[str, Any]
    metrics: dict[str, Metric]
    categories: list[dict[str, Any]]
    unjudged: float
    against: dict[str, Any] | None
    asked_at: str
    written_since: int
    took_ms: float


class EvaluationRow(TypedDict):
    """What was measured of which setting; it holds more."""

    id: str
    system: str
    params: dict[str, Any]
    profile_version_id: str | None
    judgement_set_id: str
    part: str
    metrics: dict[str, Metric]
    created_at: str


class Curves(TypedDict):
    """What each parameter alone can do to a metric."""

    metric: str
    here: float
    curves: list[dict[str, Any]]
    left: list[str]
    asks_again: list[str]


class Ablated(TypedDict):
    """What the retrievers are good for."""

    metric: str
    mean: float
    queries: int
    relevant: int
    routes: list[dict[str, Any]]
    overlap: list[list[float | None]]


class Job(TypedDict):
    """A piece of long work; it holds more."""

    id: str
    kind: str
    state: str
    share: float
    params: dict[str, Any]
    result: dict[str, Any]
    error: str


class ProfileVersion(TypedDict):
    """One version of a profile; it holds more."""

    id: str
    profile: str
    number: int
    state: str
    serving: bool
    system: str
    params: dict[str, Any]
    parent: str | None
    changes: list[str]


class Publication(TypedDict):
    """What serves."""

    id: str
    profile_version: str | None
    note: str
    published_at: str


class Profiles(TypedDict):
    """The newest versions, and what serves."""

    serving: Publication | None
    results: list[ProfileVersion]
