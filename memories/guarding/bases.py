"""What an answer was made from: the results of a trace, of a question asked now, memories by id, texts."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from memories.guarding.support import Basis
from memories.models import Memory, Namespace, Trace
from memories.models.choices import Status
from memories.retrieval.answer import build_answer
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Query
from memories.retrieval.retrieve import retrieve
from memories.writing.write_errors import NotFoundError

MOST_BASES = 100  # ids, or texts, in one request


def bases(
    namespace: Namespace,
    *,
    trace: Trace | None = None,
    query: str = "",
    memories: Sequence[UUID] = (),
    texts: Iterable[str] = (),
) -> list[Basis]:
    """All that an answer may rest on, in this order, each once; an id that is not here is refused (AbsentError)."""
    ids = [*came_back(trace), *(asked(namespace, query) if query else ()), *memories]
    rows = Memory.objects.within(namespace).filter(id__in=ids).exclude(status=Status.FORGOTTEN) if ids else ()
    stored = {one.id: Basis(one.content, one.id, one.subject_surface) for one in rows}
    for id in memories:
        if id not in stored:
            raise NotFoundError(id)
    # What came back then and was forgotten since carries nothing any more.
    found = [stored[id] for id in dict.fromkeys(ids) if id in stored]
    return [*found, *(Basis(text) for text in dict.fromkeys(texts))]


def came_back(trace: Trace | None) -> list[UUID]:
    """The memories that a trace gave back."""
    return [UUID(one["id"]) for one in trace.answer.get("results", ())] if trace else []


def asked(namespace: Namespace, query: str) -> list[UUID]:
    """The memories that the namespace gives back now; nothing is recorded of it."""
    retrieval = retrieve(Query(namespace=namespace, text=query, config=resolve_config(namespace, params={})))
    return build_answer(retrieval, explain="none").result_ids
