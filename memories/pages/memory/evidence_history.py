"""Evidence of a memory: its confidence by signal, and every change of a score with its cause."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.contracts.number_format import format_number, format_rounded, format_signed
from memories.models import Memory, MemorySource, ScoreEvent, Session
from memories.pages.explanation_nodes import ExplanationNode, explanation_node
from memories.web.memory_filters import visible_statuses
from memories.web.roles import Access
from memories.writing.evidence import EvidenceState, evidence_columns
from scoring import evidence
from scoring.policy import WritePolicyParams
from scoring.term import Tree

MAX_EVENTS = 200  # most recent events in the table
SIGNALS = ("Source", "Repetition", "Extractor", "Type")
COLUMNS = ("repetitions", "confidence", "belief")
SHOWN_ELSEWHERE = (*COLUMNS, "corroborations", "contradictions", "reason")
UTTERED_CAUSES = ("stored", "observed", "merged")  # causes that stem from an utterance
CAUSE_LABELS = {"observed": "Said again", "corroborated": "Corroborated", "contradicted": "Contradicted"}


@dataclass(frozen=True)
class ConfidenceSignal:
    """One weighted signal of a confidence, and where its bar starts."""

    name: str
    weight: float
    signal: float
    value: float
    start: float


@dataclass(frozen=True)
class ConfidenceWaterfall:
    """A confidence as the sum of its signals, less a grounding penalty or a cap."""

    signals: tuple[ConfidenceSignal, ...]
    deduction: float  # by a grounding penalty or a cap; zero or less
    deducted_by: str
    confidence: float
    if_confirmed: float  # the confidence after a confirmation
    tree: ExplanationNode

    @property
    def equation(self) -> str:
        """The sum in numbers, without its result."""
        terms = " + ".join(f"{format_number(part.weight, 2)} × {format_rounded(part.signal)}" for part in self.signals)
        return f"{terms} − {format_rounded(-self.deduction)}" if self.deduction else terms

    @property
    def text_alternative(self) -> str:
        """Text alternative of the chart."""
        signals = [f"{part.name.lower()} {format_number(part.value, 4)}" for part in self.signals]
        deduction = f"{self.deducted_by.lower()} {format_signed(self.deduction, 4)}"
        return ", ".join([*signals, deduction, f"confidence {format_number(self.confidence, 4)}"])


def confidence_waterfall(
    events: list[ScoreEvent], state: EvidenceState, policy: WritePolicyParams
) -> ConfidenceWaterfall:
    """The confidence as its last event explains it, else as computed from the evidence now."""
    trees = [event.parts for event in events if event.parts.get("name") == "confidence"]
    tree: Tree = trees[-1] if trees else evidence_columns(state.evidence, policy)[1]
    total = tree
    while total["op"] != "+":
        total = total["parts"][0]
    signals, start = [], 0.0
    for name, term in zip(SIGNALS, total["parts"], strict=True):
        weight, signal = (float(part["value"]) for part in term["parts"])
        signals.append(ConfidenceSignal(name, weight, signal, float(term["value"]), start))
        start += float(term["value"])
    confirmed, _ = evidence_columns(evidence.confirm_evidence(state.evidence), policy)
    deduction = round(float(tree["value"]) - start, 9)
    return ConfidenceWaterfall(
        tuple(signals),
        deduction,
        "Cap" if deduction and not contains_term(tree, "grounding_penalty") else "Grounding",
        float(tree["value"]),
        float(confirmed["confidence"]),
        explanation_node(tree),
    )


def contains_term(tree: Tree, name: str) -> bool:
    """Whether an explanation contains a term of this name."""
    return tree["name"] == name or any(contains_term(part, name) for part in tree.get("parts", []))


@dataclass(frozen=True)
class HistoryRow:
    """One event of the history, with the scores after it."""

    event: ScoreEvent
    label: str
    other: Memory | None
    session: Session | None
    repetitions: int
    confidence: float
    confidence_change: float | None
    belief: float
    belief_change: float | None
    other_changes: tuple[tuple[str, str, str], ...]  # name, before, after
    trees: tuple[ExplanationNode, ...]

    @property
    def at(self) -> datetime:
        """When it happened."""
        return self.event.at

    @property
    def reason(self) -> str:
        """The reason given by the caller."""
        return str(self.event.parts.get("reason", ""))


def latest_events(memory: Memory) -> tuple[list[ScoreEvent], int]:
    """The most recent events of a memory, oldest first, and the total number of events."""
    rows = ScoreEvent.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.id)
    last = list(rows.order_by("-at", "-id")[:MAX_EVENTS])[::-1]
    return last, rows.count() if len(last) == MAX_EVENTS else len(last)


def load_history_rows(access: Access, events: list[ScoreEvent], sources: list[MemorySource]) -> list[HistoryRow]:
    """The events with their causes; the memories behind them are loaded in one SQL query."""
    sessions = {source.observed_at: source.session for source in sources if source.session}
    ids = {event.other_id for event in events if event.other_id}
    rows = (
        Memory.objects.within(access.namespace).filter(id__in=ids, status__in=visible_statuses(access)) if ids else []
    )
    others: dict[UUID, Memory] = {row.id: row for row in rows}
    return [
        history_row(event, scores, others, sessions)
        for event, scores in zip(events, scores_after_each(events), strict=True)
    ]


def scores_after_each(events: list[ScoreEvent]) -> list[dict[str, Any]]:
    """The scores after each event, including those it did not change."""
    scores = {name: initial_score(events, name) for name in COLUMNS}
    after_each = []
    for event in events:
        scores = scores | {name: event.after[name] for name in COLUMNS if name in event.after}
        after_each.append(scores)
    return after_each


def initial_score(events: list[ScoreEvent], name: str) -> Any:
    """A score before the first event that changes it."""
    return next((event.before[name] for event in events if name in event.before), 0)


def history_row(
    event: ScoreEvent, scores: Mapping[str, Any], others: Mapping[UUID, Memory], sessions: Mapping[datetime, Session]
) -> HistoryRow:
    """One row of the history."""
    changes = {name: event.after[name] - event.before[name] for name in COLUMNS if name in event.before}
    is_first = not event.before
    other_changes = [
        (name.replace("_", " "), format_column(event.before.get(name)), format_column(value))
        for name, value in event.after.items()
        if name not in SHOWN_ELSEWHERE and not is_first
    ]
    trees = [tree for tree in (event.parts, event.parts.get("belief", {})) if "op" in tree]
    return HistoryRow(
        event,
        CAUSE_LABELS.get(event.cause, event.cause.capitalize()),
        others.get(event.other_id) if event.other_id else None,
        sessions.get(event.at) if event.cause in UTTERED_CAUSES else None,
        scores["repetitions"],
        scores["confidence"],
        changes.get("confidence"),
        scores["belief"],
        changes.get("belief"),
        tuple(other_changes),
        tuple(explanation_node(tree) for tree in trees),
    )


def format_column(value: Any) -> str:
    """A column's value in the history."""
    if value is None or value == "":
        return "nothing"
    return format_rounded(value) if isinstance(value, float) else str(value)
