"""What a survivor of merges would stand on without one of them: read from its history and from what is still merged."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from memories.models import Memory, ScoreEvent
from memories.writing.standing import Standing
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
        if told and event.cause not in ("merged", "split"):
            yield tuple(state.values())


def confirmed_without(history: Iterable[ScoreEvent], others: Iterable[Memory]) -> datetime | None:
    """When the survivor was last confirmed in its own right, or else one that is still merged into it."""
    mine = [event.at for event in history if event.cause == "confirmed"]
    theirs = [one.confirmed_at for one in others if one.confirmed_at]
    return max(mine or theirs, default=None)
