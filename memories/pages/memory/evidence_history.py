"""What a memory's numbers rest on: its confidence part by part, and every change of a score with its cause."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.api.memories import visible_statuses
from memories.models import Memory, MemorySource, ScoreEvent, Session
from memories.pages.explanation_nodes import ExplanationNode, explanation_node
from memories.templatetags.numbers import about, figure, signed
from memories.web.roles import Access
from memories.writing.evidence import EvidenceState, evidence_columns
from scoring import evidence
from scoring.policy import WritePolicyParams
from scoring.term import Tree

MAX_EVENTS = 200  # changes that are shown, the last ones
SIGNALS = ("Source", "Repetition", "Extractor", "Type")
SHOWN = ("repetitions", "confidence", "belief")  # columns of the table
BESIDE = (*SHOWN, "corroborations", "contradictions", "reason")
HEARD = ("stored", "observed", "merged")  # causes that are somebody's words
SAID = {"observed": "Said again", "corroborated": "Corroborated", "contradicted": "Contradicted"}


@dataclass(frozen=True)
class Part:
    """One signal of a confidence: what it weighs, what it is, and where it begins on the way to the whole."""

    name: str
    weight: float
    signal: float
    value: float
    start: float


@dataclass(frozen=True)
class Waterfall:
    """A confidence as the sum of its signals, and what grounding or a cap took off."""

    parts: tuple[Part, ...]
    taken: float  # by a grounding penalty or a cap; zero or less
    taken_by: str
    confidence: float
    then: float  # if it were confirmed now
    tree: ExplanationNode

    @property
    def equation(self) -> str:
        """The sum in figures, without the result."""
        terms = " + ".join(f"{figure(part.weight, 2)} × {about(part.signal)}" for part in self.parts)
        return f"{terms} − {about(-self.taken)}" if self.taken else terms

    @property
    def told(self) -> str:
        """The same for whoever cannot see the figure."""
        each = ", ".join(f"{part.name.lower()} {figure(part.value, 4)}" for part in self.parts)
        return f"{each}, {self.taken_by.lower()} {signed(self.taken, 4)}, confidence {figure(self.confidence, 4)}"


def waterfall(events: list[ScoreEvent], standing: EvidenceState, policy: WritePolicyParams) -> Waterfall:
    """The confidence as its last event explains it; where none does, as the evidence amounts to it today."""
    told = [event.parts for event in events if event.parts.get("name") == "confidence"]
    tree: Tree = told[-1] if told else evidence_columns(standing.evidence, policy)[1]
    whole = tree
    while whole["op"] != "+":
        whole = whole["parts"][0]
    parts, start = [], 0.0
    for name, term in zip(SIGNALS, whole["parts"], strict=True):
        weight, signal = (float(part["value"]) for part in term["parts"])
        parts.append(Part(name, weight, signal, float(term["value"]), start))
        start += float(term["value"])
    confirmed, _ = evidence_columns(evidence.confirm_evidence(standing.evidence), policy)
    taken = round(float(tree["value"]) - start, 9)
    return Waterfall(
        tuple(parts),
        taken,
        "Cap" if taken and not holds(tree, "grounding_penalty") else "Grounding",
        float(tree["value"]),
        float(confirmed["confidence"]),
        explanation_node(tree),
    )


def holds(tree: Tree, name: str) -> bool:
    """Whether a term of this name is in an explanation."""
    return tree["name"] == name or any(holds(part, name) for part in tree.get("parts", []))


@dataclass(frozen=True)
class Change:
    """One event of the history, and where the numbers stood after it."""

    event: ScoreEvent
    what: str
    other: Memory | None
    session: Session | None
    repetitions: int
    confidence: float
    confidence_by: float | None
    belief: float
    belief_by: float | None
    rest: tuple[tuple[str, str, str], ...]  # what else changed: name, before, after
    trees: tuple[ExplanationNode, ...]

    @property
    def at(self) -> datetime:
        """When it happened."""
        return self.event.at

    @property
    def reason(self) -> str:
        """The reason that somebody gave."""
        return str(self.event.parts.get("reason", ""))


def events_of(memory: Memory) -> tuple[list[ScoreEvent], int]:
    """The last changes of a memory, the first first, and how many there are in all."""
    rows = ScoreEvent.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.id)
    last = list(rows.order_by("-at", "-id")[:MAX_EVENTS])[::-1]
    return last, rows.count() if len(last) == MAX_EVENTS else len(last)


def history(access: Access, events: list[ScoreEvent], sources: list[MemorySource]) -> list[Change]:
    """Every change with its cause, one question for all the memories that caused one."""
    sessions = {one.observed_at: one.session for one in sources if one.session}
    ids = {event.other_id for event in events if event.other_id}
    rows = (
        Memory.objects.within(access.namespace).filter(id__in=ids, status__in=visible_statuses(access)) if ids else []
    )
    others: dict[UUID, Memory] = {row.id: row for row in rows}
    return [change(event, others, sessions, first=not event.before) for event in standing_after(events)]


def standing_after(events: list[ScoreEvent]) -> list[ScoreEvent]:
    """Give each event the numbers that it left as they were."""
    state: dict[str, Any] = {}
    for event in events:
        for name in SHOWN:
            state.setdefault(name, event.before.get(name, first_told(events, name)))
        state |= {name: event.after[name] for name in SHOWN if name in event.after}
        event.state = dict(state)  # type: ignore[attr-defined]
    return events


def first_told(events: list[ScoreEvent], name: str) -> Any:
    """A number before the first event that changes it."""
    return next((event.before[name] for event in events if name in event.before), 0)


def change(
    event: ScoreEvent, others: Mapping[UUID, Memory], sessions: Mapping[datetime, Session], *, first: bool
) -> Change:
    """One event as it is shown."""
    state: dict[str, Any] = event.state  # type: ignore[attr-defined]
    moved = {name: event.after[name] - event.before[name] for name in SHOWN if name in event.before}
    rest = (
        ()
        if first
        else tuple(
            (name.replace("_", " "), shown(event.before.get(name)), shown(value))
            for name, value in event.after.items()
            if name not in BESIDE
        )
    )
    trees = [tree for tree in (event.parts, event.parts.get("belief", {})) if "op" in tree]
    return Change(
        event,
        SAID.get(event.cause, event.cause.capitalize()),
        others.get(event.other_id) if event.other_id else None,
        sessions.get(event.at) if event.cause in HEARD else None,
        state["repetitions"],
        state["confidence"],
        moved.get("confidence"),
        state["belief"],
        moved.get("belief"),
        rest,
        tuple(explanation_node(tree) for tree in trees),
    )


def shown(value: Any) -> str:
    """A column as the history writes it."""
    if value is None or value == "":
        return "nothing"
    return about(value) if isinstance(value, float) else str(value)
