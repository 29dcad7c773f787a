"""The evidence of a survivor without one of its merges, from its history and the memories still merged."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

from memories.models import Memory, ScoreEvent
from memories.writing.evidence import EvidenceState
from memories.writing.merge_columns import MERGED_COLUMNS, merged_columns
from scoring import evidence
from scoring.evidence import Evidence, Grounding

EXTRACTOR_COLUMNS, GROUNDING_COLUMNS = ("extractor_model", "extractor_logprob"), ("grounding",)
GROUNDINGS: tuple[Grounding, ...] = ("supported", "partial", "unsupported")


def evidence_without_merge(
    survivor: EvidenceState, others: Iterable[Memory], history: Sequence[ScoreEvent]
) -> Evidence:
    """The best extractor and grounding that remain."""
    extractors = [
        *own_values(history, EXTRACTOR_COLUMNS),
        *((one.extractor_model, one.extractor_logprob) for one in others),
    ]
    groundings = [*(value for (value,) in own_values(history, GROUNDING_COLUMNS)), *(one.grounding for one in others)]
    if any(event.cause == "confirmed" for event in history):
        groundings.append("supported")

    def extractor_score(extractor: tuple[Any, ...]) -> float:
        model, logprob = extractor
        return float(evidence.extractor_signal(Evidence(model=model, logprob=logprob), survivor.policy).value)

    current = survivor.evidence
    model, logprob = max(extractors, key=extractor_score, default=(current.model, current.logprob))
    grounding = min(cast("list[Grounding]", groundings), key=GROUNDINGS.index, default=current.grounding)
    return replace(current, model=model, logprob=logprob, grounding=grounding)


def own_values(history: Iterable[ScoreEvent], names: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """The values of some columns after each change that was not a merge."""
    state: dict[str, Any] = dict.fromkeys(names)
    for event in history:
        changed = {name: event.after[name] for name in names if name in event.after}
        state |= changed
        if changed and is_own_event(event):
            yield tuple(state.values())


def is_own_event(event: ScoreEvent) -> bool:
    """Whether an event concerns the memory alone: its first, or any but a merge or split."""
    return not event.before or event.cause not in ("merged", "split")


def columns_without_merge(history: Iterable[ScoreEvent], others: Iterable[Memory]) -> dict[str, Any]:
    """The survivor's own scores and times, completed by the memories still merged into it."""
    values: dict[str, Any] = {}
    for event in filter(is_own_event, history):
        values |= {name: event.after[name] for name in MERGED_COLUMNS if name in event.after}
    if values.keys() != set(MERGED_COLUMNS):
        return {}  # the history is incomplete
    survivor = SimpleNamespace(
        **{name: datetime.fromisoformat(value) if isinstance(value, str) else value for name, value in values.items()}
    )
    for other in others:
        vars(survivor).update(merged_columns(survivor, other))
    return vars(survivor)


def confirmed_at_without_merge(history: Iterable[ScoreEvent], others: Iterable[Memory]) -> datetime | None:
    """The last confirmation of the survivor itself, else of a memory still merged into it."""
    own_times = [event.at for event in history if event.cause == "confirmed"]
    merged_times = [one.confirmed_at for one in others if one.confirmed_at]
    return max(own_times or merged_times, default=None)
