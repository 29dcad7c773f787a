"""The memory of the paper's appendix C: found, scored 90 days after it was stored, stored where it is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np

from memories.contracts.answer import ContextEntry
from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import Memory, MemorySource, Namespace
from memories.models.choices import ChunkLevel, Status
from memories.pages.memory.system_scores import format_retriever_ranks
from memories.retrieval.access_counts import record_access
from memories.retrieval.candidates import load_candidates
from memories.retrieval.fetch import Fetched
from memories.retrieval.prompt_context import group_by_type
from memories.retrieval.query import Config, Query
from memories.retrieval.retrieve import Retrieval, retrieve, retriever_context
from memories.writing.evidence import evidence_from_columns, source_summaries
from memories.writing.remember import remember
from scoring.catalogue.worked_example import (
    EXAMPLE_ACCESSES,
    EXAMPLE_AGE,
    EXAMPLE_CONTENT,
    EXAMPLE_LEVEL,
    EXAMPLE_MODEL,
    EXAMPLE_OBSERVATIONS,
    EXAMPLE_QUERY,
    EXAMPLE_STATEMENT,
    EXAMPLE_TYPE,
    WorkedMemory,
)
from scoring.signals import Signals
from scoring.systems import SYSTEMS
from scoring.systems.recall import RecallParams

SOURCE = "appendix C"


@dataclass(frozen=True)
class ExampleInput:
    """An input of the example: as stored here, and in the paper."""

    name: str
    here: str
    paper: str

    @property
    def same(self) -> bool:
        """Whether the steps start from the paper's value."""
        return self.here == self.paper


@dataclass(frozen=True, eq=False)
class StoredExample:
    """The stored memory with its evidence, as of a fixed time."""

    memory: Memory
    as_of: datetime
    sources: Sequence[MemorySource]
    worked: WorkedMemory
    candidates: int  # of the paper's query in this namespace
    found_by: str  # by which retrievers, at which ranks; empty if it is no candidate

    @property
    def inputs(self) -> list[ExampleInput]:
        """What the steps start from."""
        evidence, signals = self.worked.evidence, self.worked.signals
        pairs = {
            "source levels": (", ".join(sorted(evidence.levels)), EXAMPLE_LEVEL),
            "n, observations after the first": (str(evidence.repetitions), str(EXAMPLE_OBSERVATIONS)),
            "extractor": (model_name(evidence.model), model_name(EXAMPLE_MODEL)),
            "type": (evidence.type, EXAMPLE_TYPE),
            "age": (f"{signals.age_days[0]:g} d", f"{EXAMPLE_AGE} d"),
            "accesses": (f"{signals.access_count[0]:g}", str(EXAMPLE_ACCESSES)),
        }
        return [ExampleInput(name, *pair) for name, pair in pairs.items()]

    @property
    def context(self) -> dict[str, list[ContextEntry]]:
        """The memory in the structured context."""
        entry = ContextEntry(
            id=self.memory.id,
            type=self.memory.type,
            content=self.memory.content,
            user=self.memory.user,
            confidence=float(self.worked.confidence.value),
            age_days=float(self.worked.signals.age_days[0]),
        )
        return group_by_type([entry])


def model_name(model: str) -> str:
    """A model's name as both the paper and agents write it."""
    return model.casefold().replace("-", " ")


def find_example(namespace: Namespace) -> Memory | None:
    """The stored memory of the example, if there is one."""
    stored = Memory.objects.within(namespace).filter(
        status=Status.ACTIVE, level=ChunkLevel.FACT, type=EXAMPLE_TYPE, content=EXAMPLE_CONTENT
    )
    return stored.order_by("created_at", "id").first()


def load_example(memory: Memory) -> StoredExample:
    """Its evidence as stored, its signals at the fixed time, and where its weight places it among the candidates."""
    namespace, as_of = memory.namespace, memory.created_at + timedelta(days=EXAMPLE_AGE)
    config = Config(SYSTEMS["recall"])
    query = Query(namespace=namespace, text=EXAMPLE_QUERY, config=config, top_k=RecallParams().cut, as_of=as_of)
    retrieval = retrieve(query)
    signals = example_signals(retrieval, memory.id)
    summary = source_summaries(namespace, [memory.id])[memory.id]
    evidence = evidence_from_columns(memory, summary)
    weight = float(WorkedMemory(evidence, signals, 0).weight.value[0])
    sources = list(memory.sources.select_related("turn").order_by("observed_at", "id"))
    return StoredExample(
        memory,
        as_of,
        sources,
        WorkedMemory(evidence, signals, place_by_weight(retrieval, memory.id, weight)),
        len(retrieval.candidates),
        ranks_here(retrieval, memory.id),
    )


def example_signals(retrieval: Retrieval, memory: UUID) -> Signals:
    """The signals of the memory alone, whether or not it is a candidate."""
    query, parsed = retrieval.query, retrieval.parsed
    assert parsed is not None
    found = Fetched({"bm25": {memory: 0.0}})  # its ranks are the paper's
    context = retriever_context(query, parsed, retrieval.params)
    return load_candidates(query, context, found, retrieval.query_plan.plan).signals


def place_by_weight(retrieval: Retrieval, memory: UUID, weight: float) -> int:
    """The memory's place at this weight among the other candidates that pass the gates."""
    passed = np.logical_and.reduce([np.ones(len(retrieval.signals), bool), *retrieval.ranking.gates.values()])
    others = passed & (retrieval.signals.ids != str(memory))
    return 1 + int((retrieval.ranking.score.value[others] > weight).sum())


def ranks_here(retrieval: Retrieval, memory: UUID) -> str:
    """The retrievers that find the memory here, with its ranks."""
    ids = [candidate["id"] for candidate in retrieval.candidates.rows]
    return format_retriever_ranks(retrieval, ids.index(memory)) if memory in ids else ""


def store_example(namespace: Namespace, *, by: str) -> Memory:
    """Store the example: one memory, observed again in three sessions, 90 days old, returned in four sessions.

    The result is another memory if the namespace has one that says the same.
    """
    said_at = namespace.now - timedelta(days=EXAMPLE_AGE)
    for mention in range(1 + EXAMPLE_OBSERVATIONS):
        new = NewMemory(
            content=EXAMPLE_CONTENT,
            type=EXAMPLE_TYPE,
            utterances=(Utterance(EXAMPLE_LEVEL),),
            model=EXAMPLE_MODEL,
            evidence=EXAMPLE_STATEMENT,
            session=f"{SOURCE}, mention {mention + 1}",
            source=SOURCE,
            created_at=said_at,
            happened_at=said_at,
        )
        [outcome] = remember(namespace, [new], by=by)
        if outcome.memory.content != EXAMPLE_CONTENT:
            return outcome.memory
    config = Config(SYSTEMS["recall"])
    for returned in range(EXAMPLE_ACCESSES):
        session = f"{SOURCE}, query {returned + 1}"
        record_access(
            Query(namespace=namespace, text=EXAMPLE_QUERY, config=config, session=session), [outcome.memory.id]
        )
    return outcome.memory
