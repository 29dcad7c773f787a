"""The answer to a query: results with their explanations, the context for a prompt, and what was left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, NotRequired, TypedDict
from uuid import UUID

from memories.contracts.json_contract import Flat, JsonContract
from scoring.systems import SYSTEMS

USER_DOC = "whose memory it is; empty: no user's"
ParamValue = bool | int | float | str
OnLowConfidence = Literal["abstain", "flag"]  # what an answer that is too unlikely does
OUTPUT_FIELDS = tuple(dict.fromkeys(name for system in SYSTEMS.values() for name in system.outputs))


class Explanation(TypedDict):
    """A node of a score's explanation: a named value and the operands it was computed from."""

    name: str
    value: float
    op: NotRequired[Annotated[str, "an operation, or input, param, const"]]
    parts: NotRequired[list["Explanation"]]


@dataclass(frozen=True)
class AnswerProfile(JsonContract):
    """The ranking configuration of an answer."""

    name: Annotated[str | None, "null: a system, no profile"]
    version: int | None
    system: str
    preset: Annotated[
        str | None, "of the system, that it starts from: the request's, or the mode's; null: the defaults"
    ]


@dataclass(frozen=True)
class EntityReport(JsonContract):
    """An entity recognised in the query."""

    id: UUID
    surface: Annotated[str, "as it is written in the query"]
    confidence: float


@dataclass(frozen=True)
class TimeWindowReport(JsonContract):
    """The time window that the query asks about."""

    start: datetime
    until: datetime
    cue: Annotated[str, "how precise the time expression is: exact, relative, month (or quarter), or vague"]


@dataclass(frozen=True, kw_only=True)
class ParsedReport(JsonContract):
    """What was recognised in the query."""

    entities: Sequence[EntityReport]
    window: TimeWindowReport | None
    embedded: Annotated[str, "the text that was embedded"]
    intent_words: Annotated[Sequence[str], "the words that set the recency intent; none: MEDIUM"]
    emphasis_words: Annotated[Sequence[str], "the words that chose the weight profile"]


NOTHING_PARSED = ParsedReport(entities=(), window=None, embedded="", intent_words=(), emphasis_words=())


@dataclass(frozen=True, kw_only=True)
class WeightingReport(JsonContract):
    """What a system that adapts its weights to the query made of it."""

    intent: Annotated[str, "recency intent: HIGH, MEDIUM or LOW"]
    half_life_hours: Annotated[float, "of recency, by the intent"]
    emphasis: Annotated[str, "the weight profile: factual, recent, analytical, or none"]
    intent_reason: str
    emphasis_reason: str
    weights: Annotated[Mapping[str, float], "of each factor, normalised to sum to 1"]


@dataclass(frozen=True, kw_only=True)
class PlanReport(ParsedReport):
    """The plan: retrievers, parameters, and what it was chosen by."""

    name: str
    retrievers: Annotated[Sequence[str], "those that were asked; one of weight 0 is not"]
    specificity: Annotated[Explanation | None, "null: the system has no planner"]
    reranker: Annotated[str | None, "null: not reranked"]
    params: Mapping[str, ParamValue]
    weighting: Annotated[WeightingReport | None, "null: the system does not adapt its weights to the query"]
    inert: Annotated[Mapping[str, str], "parameters that cannot move this answer, each with the reason"]


@dataclass(frozen=True)
class RetrieverHit(JsonContract):
    """A memory's rank in one retriever's list."""

    rank: int
    score: Annotated[float, "the retriever's own score"]
    contribution: Annotated[float | None, "its contribution to the final score"]


@dataclass(frozen=True)
class MmrSelection(JsonContract):
    """How a result was selected by MMR."""

    step: int
    relevance: float
    redundancy: Annotated[float, "highest similarity to a result selected before"]
    nearest: Annotated[UUID | None, "the result it is most similar to"]


class MemsenseExplain(TypedDict):
    """What a score of memsense is made of; for a session, also how its turns support it."""

    rrf_score: float
    memory_score: Annotated[float, "stored; the confidence if none is"]
    memory_share: Annotated[float, "memory_score times its weight"]
    found_by: Annotated[list[str], "retrievers that found it, best rank first"]
    neighbour_of: Annotated[UUID | None, "the result that brought it along, as it stands beside it in their session"]
    anchor_share: Annotated[float | None, "the score of a neighbour that no retriever found, a share of neighbour_of's"]
    session_rrf_score: NotRequired[float]
    turn_support: NotRequired[float]
    supporting_turn_count: NotRequired[int]
    best_turn_found_by: NotRequired[list[str]]


class SystemDetails(TypedDict, total=False):
    """Fields that contextdb (source) and memsense add to a result."""

    source: Annotated[list[str], "retrievers that found it, best rank first (contextdb)"]
    rrf_score: float
    found_by: Annotated[list[str], "retrievers that found it, best rank first (memsense)"]
    explain: Annotated[MemsenseExplain | None, "memsense; null: stored before chunks were explained"]


@dataclass(frozen=True, kw_only=True)
class ContextEntry(JsonContract):
    """A memory in the context for a prompt."""

    id: UUID
    type: str
    content: str
    user: Annotated[str, USER_DOC]
    confidence: float
    age_days: float


@dataclass(frozen=True, kw_only=True)
class Result(JsonContract):
    """A result; each system adds its own outputs."""

    id: UUID
    type: str
    level: str
    content: str
    user: Annotated[str, USER_DOC]
    confidence: float
    age_days: float
    rank: int
    score: float
    retrievers: Mapping[str, RetrieverHit]
    outputs: Annotated[Mapping[str, float | None], Flat(OUTPUT_FIELDS)]
    details: Annotated[SystemDetails, Flat()]
    outdated: Annotated[bool, "whether a later valid memory contradicts it"]
    conflicts_with: Sequence[UUID] = ()
    gone: Annotated[bool, "forgotten since, so its text is omitted"] = False
    explanation: Explanation | None = None
    selection: MmrSelection | None = None

    @property
    def current(self) -> bool:
        """Whether it belongs in a prompt."""
        return not (self.outdated or self.gone)


@dataclass(frozen=True, kw_only=True)
class NearestMiss(JsonContract):
    """One of the best candidates that were not returned."""

    id: UUID
    type: str
    level: str
    content: str
    user: Annotated[str, USER_DOC]
    confidence: float
    age_days: float
    score: float
    filtered_by: Annotated[Sequence[str], "gates, or abstention"]
    gone: Annotated[bool, "forgotten since, so its text is omitted"] = False


@dataclass(frozen=True)
class TimedOut(JsonContract):
    """A retriever that timed out or failed and was left out."""

    retriever: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Answer(JsonContract):
    """The results with their explanations, and what was left out."""

    trace: Annotated[UUID | None, "id for replay; null: not traced"]
    profile: AnswerProfile
    plan: PlanReport
    results: Sequence[Result]
    context: Annotated[Mapping[str, Sequence[ContextEntry]], "the results that are not outdated, by type"]
    users_differ: Annotated[
        bool,
        "whether memories are of several users, or of another than the query's: each line of the block names its own",
    ]
    filtered: Annotated[Mapping[str, int], "number of filtered candidates by gate"]
    timed_out: Sequence[TimedOut]
    tiebreak_applied: Annotated[bool, "whether the scores were so close that a tiebreak chain ordered the results"]
    abstained: bool
    answer_probability: Annotated[
        float, "probability that the top result answers the query; 1 if the system does not estimate it"
    ]
    low_confidence: Annotated[
        bool, "whether that probability is below the system's threshold: it abstained, or the results are only flagged"
    ]
    reason: Annotated[str, "why there are no results, none in the context, or why they are flagged"]
    nearest: Annotated[Sequence[NearestMiss], "the best filtered candidates"]
    as_of: datetime | None
    note: Annotated[str, "which current data an answer as of the past uses"]
    took_ms: Mapping[str, float]

    @property
    def result_ids(self) -> list[UUID]:
        """The ids of the results, in order."""
        return [result.id for result in self.results]


@dataclass(frozen=True, kw_only=True)
class TracedAnswer(Answer):
    """An answer as served, without the text of memories forgotten since."""

    gone: Annotated[Sequence[UUID], "memories forgotten since"]


@dataclass(frozen=True, kw_only=True)
class ReplayAnswer(Answer):
    """The answer of a replay."""

    replayed: Annotated[bool, "false: run live because of `live`"]
    live: Annotated[Sequence[str], "what needs a new query: it changes the candidates, or turns MMR on"]
    changed: Annotated[Sequence[UUID], "candidates that were re-embedded or are gone"]


@dataclass(frozen=True)
class Agreement(JsonContract):
    """Rank agreement of two systems."""

    systems: Sequence[str]
    kendall_tau: Annotated[float | None, "null: fewer than two memories in common"]
    rbo: Annotated[float, "rank-biased overlap, p = .9"]


@dataclass(frozen=True)
class Comparison(JsonContract):
    """Every system's answer, and the rank agreement of each pair."""

    answers: Mapping[str, Answer]
    agreement: Sequence[Agreement]
