"""The stored answer of a trace, without the text of memories forgotten since."""

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from memories.contracts.answer import TracedAnswer
from memories.models import Memory, Namespace, Trace
from memories.models.choices import Status


def redact_forgotten(trace: Trace) -> TracedAnswer:
    """The answer as served; forgotten memories keep their numbers and lose their text."""
    answer = TracedAnswer.from_dict({**trace.answer, "trace": str(trace.id), "gone": []})
    shown = [result.id for result in answer.results] + [miss.id for miss in answer.nearest]
    gone = forgotten_ids(trace.namespace, shown)
    if not gone:
        return answer
    groups = {type: [entry for entry in group if entry.id not in gone] for type, group in answer.context.items()}
    return replace(
        answer,
        results=[replace(result, content="", gone=True) if result.id in gone else result for result in answer.results],
        nearest=[replace(miss, content="", gone=True) if miss.id in gone else miss for miss in answer.nearest],
        context={type: group for type, group in groups.items() if group},
        gone=sorted(gone),
    )


def forgotten_ids(namespace: Namespace, ids: Iterable[UUID]) -> set[UUID]:
    """Those of some memories that were forgotten or erased."""
    wanted = set(ids)
    if not wanted:
        return set()
    stored = Memory.objects.within(namespace).filter(id__in=wanted).exclude(status=Status.FORGOTTEN)
    return wanted - set(stored.values_list("id", flat=True))
