"""The faithfulness of an answer: its claims checked against the memories it is based on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from memories.guards.claims import claim_sentences, extract_claims
from memories.guards.support import Basis, ClaimSupport, judge_claims
from memories.models import Memory, Namespace, Trace
from memories.models.choices import Status
from memories.providers.judge import judge
from memories.retrieval.answer import build_answer
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Query
from memories.retrieval.retrieve import retrieve
from memories.text.name_index import find_names
from memories.writing.write_errors import NotFoundError
from scoring import faithfulness as formulas

MAX_BASES = 100  # ids, or texts, per request


@dataclass(frozen=True)
class AnswerCheck:
    """The support of each claim of an answer, and the resulting faithfulness and risk."""

    claims: Sequence[ClaimSupport]
    bases: Sequence[Basis]
    judge: str

    @property
    def supported(self) -> int:
        """The number of supported claims."""
        return sum(support.supported for support in self.claims)

    @property
    def unsupported(self) -> int:
        """The number of claims with partial or no support."""
        return len(self.claims) - self.supported

    @property
    def critical(self) -> int:
        """The number of unsupported claims that are critical."""
        return sum(bool(support.claim.critical) for support in self.claims if not support.supported)

    @property
    def faithfulness(self) -> float:
        """The share of supported claims."""
        return formulas.faithfulness(self.supported, len(self.claims))

    @property
    def risk(self) -> formulas.Risk:
        """The risk of the unsupported claims."""
        return formulas.risk(self.unsupported, self.critical)


def check_answer(namespace: Namespace, answer: str, bases: Sequence[Basis]) -> AnswerCheck:
    """Split an answer into claims and judge each against its closest memories; nothing is stored."""
    sentences, configured = claim_sentences(answer), judge(settings.RECALL_JUDGE)
    registry = find_names(namespace, [*sentences, *(basis.text for basis in bases)]).registry
    supports = judge_claims(extract_claims(sentences, registry), bases, configured, registry)
    return AnswerCheck(supports, bases, configured.name)


def collect_bases(
    namespace: Namespace,
    *,
    trace: Trace | None = None,
    query: str = "",
    memories: Sequence[UUID] = (),
    texts: Iterable[str] = (),
) -> list[Basis]:
    """The results of a trace and of a new query, memories by id and texts, each once; raises NotFoundError."""
    ids = [*trace_result_ids(trace), *(retrieve_ids(namespace, query) if query else ()), *memories]
    rows = Memory.objects.within(namespace).filter(id__in=ids).exclude(status=Status.FORGOTTEN) if ids else ()
    stored = {row.id: Basis(row.content, row.id, row.subject_surface) for row in rows}
    for id in memories:
        if id not in stored:
            raise NotFoundError(id)
    # Results of the trace that have been forgotten since are left out.
    memory_bases = [stored[id] for id in dict.fromkeys(ids) if id in stored]
    return [*memory_bases, *(Basis(text) for text in dict.fromkeys(texts))]


def trace_result_ids(trace: Trace | None) -> list[UUID]:
    """The memories that a trace returned."""
    return [UUID(result["id"]) for result in trace.answer.get("results", ())] if trace else []


def retrieve_ids(namespace: Namespace, query: str) -> list[UUID]:
    """The memories that a query returns now; no trace is stored."""
    retrieval = retrieve(Query(namespace=namespace, text=query, config=resolve_config(namespace, params={})))
    return build_answer(retrieval, explain="none").result_ids
