"""What a survivor of merges would stand on without one of them: read from its history and from what is still merged."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

from memories.models import Memory, ScoreEvent
from memories.writing.standing import Standing
from memories.writing.uniting import COMPLETED, completed
from scoring import evidence
from scoring.evidence import Evidence, Grounding

EXTRACTOR, GROUNDING = ("extractor_model", "extractor_logprob"), ("grounding",)
DOUBTS: tuple[Grounding, ...] = ("supported", "partial", "unsupported")


def heard_without(survivor: Standing, others: Iterable[Memory], history: Sequence[ScoreEvent]) -> Evidence:
    """The surest extractor and the least doubt that are left."""
    extractors = [*own(history, EXTRACTOR), *((one.extractor_model, one.extractor_logprob) for one in others)]
    doubts = [*(doubt for (doubt,) in own(history, GROUNDING)), *(one.grounding for one in others)]
    if any(event.cause == "confirmed" for event in history):
        doubts.append("supported")

    def sureness(extractor: tuple[Any, ...]) -> float:
        model, logprob = extractor
        return float(evidence.extractor(Evidence(model=model, logprob=logprob), survivor.policy).value)

    now = survivor.evidence
    model, logprob = max(extractors, key=sureness, default=(now.model, now.logprob))
    grounding = min(cast("list[Grounding]", doubts), key=DOUBTS.index, default=now.grounding)
    return replace(now, model=model, logprob=logprob, grounding=grounding)


def own(history: Iterable[ScoreEvent], names: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """What some columns became whenever something other than a merge changed them."""
    state: dict[str, Any] = dict.fromkeys(names)
    for event in history:
        told = {name: event.after[name] for name in names if name in event.after}
        state |= told
        if told and by_itself(event):
            yield tuple(state.values())


def by_itself(event: ScoreEvent) -> bool:
    """Whether an event tells of the memory alone: its first, or one that no merge made."""
    return not event.before or event.cause not in ("merged", "split")


def completed_without(history: Iterable[ScoreEvent], others: Iterable[Memory]) -> dict[str, Any]:
    """The numbers and times that the survivor was told itself, completed by those that are still merged into it."""
    told: dict[str, Any] = {}
    for event in filter(by_itself, history):
        told |= {name: event.after[name] for name in COMPLETED if name in event.after}
    if told.keys() != set(COMPLETED):
        return {}  # history does not reach back
    itself = SimpleNamespace(
        **{name: datetime.fromisoformat(value) if isinstance(value, str) else value for name, value in told.items()}
    )
    for other in others:
        vars(itself).update(completed(itself, other))
    return vars(itself)


def confirmed_without(history: Iterable[ScoreEvent], others: Iterable[Memory]) -> datetime | None:
    """When the survivor was last confirmed in its own right, or else one that is still merged into it."""
    mine = [event.at for event in history if event.cause == "confirmed"]
    theirs = [one.confirmed_at for one in others if one.confirmed_at]
    return max(mine or theirs, default=None)
