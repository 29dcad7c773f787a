"""A Python client of the REST API for agents: standard library only, no Django.

>>> recall = Recall("http://127.0.0.1:8000", "workshop", "rk_…")
>>> recall
Recall('http://127.0.0.1:8000', 'workshop')
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Unpack, cast, overload
from urllib.parse import quote
from uuid import UUID

from memories.client.answer_types import AnswerJson, ComparisonJson, ReplayAnswerJson, WhyNotJson
from memories.client.payloads import (
    BatchItemJson,
    ConversationOptions,
    CorrectionJson,
    IngestJson,
    MemoryChangeJson,
    MemoryOptions,
    OutcomeJson,
    QueryOptions,
    RankingOptions,
    ReplayOptions,
    RetrieveOptions,
    TraceFilters,
    TraceRowJson,
    TurnInput,
)
from memories.client.transport import RecallError, Transport
from memories.client.tuning_calls import TuningCalls

__all__ = ["Recall", "RecallError"]


class Recall(TuningCalls):
    """A client for one namespace, authenticated by an API key; a failed call raises RecallError."""

    def __init__(
        self,
        url: str,
        namespace: str,
        key: str,
        *,
        timeout: float = 30.0,  # seconds per attempt
        attempts: int = 4,
        patience: float = 60.0,  # seconds in which a call may be retried
    ) -> None:
        self.url, self.namespace = url.rstrip("/"), namespace
        base = f"{self.url}/api/v1/{quote(namespace, safe='')}/"
        self._transport = Transport(base, key, timeout=timeout, attempts=attempts, patience=patience)

    def __repr__(self) -> str:
        return f"Recall({self.url!r}, {self.namespace!r})"

    def remember(self, content: str, *, dry_run: bool = False, **options: Unpack[MemoryOptions]) -> OutcomeJson:
        """Remember one memory: it is stored, merged, escalated or rejected."""
        return cast(OutcomeJson, self._write("memories/", {"content": content, **options}, dry_run=dry_run))

    def remember_batch(self, memories: Iterable[Mapping[str, Any]], *, dry_run: bool = False) -> list[BatchItemJson]:
        """Remember up to 1,000 memories; one outcome each, in order."""
        response = self._write("memories/batch/", {"memories": list(memories)}, dry_run=dry_run)
        return cast(list[BatchItemJson], response["results"])

    @overload
    def retrieve(self, query: str, *, format: Literal["markdown"], **options: Unpack[RetrieveOptions]) -> str: ...
    @overload
    def retrieve(
        self, query: str, *, format: Literal["json"] = "json", **options: Unpack[RetrieveOptions]
    ) -> AnswerJson: ...
    def retrieve(self, query: str, *, format: str = "json", **options: Unpack[RetrieveOptions]) -> AnswerJson | str:
        """Retrieve memories; with format="markdown", the context block for a prompt."""
        # Outside a session every response counts as an access, so a lost response must not be fetched twice.
        counts_twice = options.get("record", True) and not options.get("session")
        body = {"query": query, "format": format, **options}
        return cast(AnswerJson | str, self._transport.send("POST", "retrieve/", body, retry_safe=not counts_twice))

    def why_not(self, query: str, memory: UUID | str, **options: Unpack[RankingOptions]) -> WhyNotJson:
        """Explain why a memory is not among the results, and the smallest change that brings it in."""
        return cast(WhyNotJson, self._query("why-not/", {"query": query, "memory": memory, **options}))

    def compare(self, query: str, **options: Unpack[QueryOptions]) -> ComparisonJson:
        """Compare all systems on one query."""
        return cast(ComparisonJson, self._query("compare/", {"query": query, **options}))

    def replay(self, trace: UUID | str, **options: Unpack[ReplayOptions]) -> ReplayAnswerJson:
        """Rank the candidates of a trace under other parameters."""
        return cast(ReplayAnswerJson, self._query("replay/", {"trace": trace, **options}))

    def traces(self, **filters: Unpack[TraceFilters]) -> Iterator[TraceRowJson]:
        """Iterate over traces, newest first, page by page."""
        return self._paginate("traces/", filters)

    def confirm(self, memory: UUID | str) -> MemoryChangeJson:
        """Confirm a memory."""
        return cast(MemoryChangeJson, self._write(f"{memory_path(memory)}confirm/"))

    def feedback(self, memory: UUID | str, *, useful: bool) -> MemoryChangeJson:
        """Record whether a memory was useful."""
        return cast(MemoryChangeJson, self._write(f"{memory_path(memory)}feedback/", {"useful": useful}))

    def correct(self, memory: UUID | str, content: str, **options: Unpack[MemoryOptions]) -> CorrectionJson:
        """Correct a memory; omitted fields are copied from it."""
        return cast(CorrectionJson, self._write(f"{memory_path(memory)}correct/", {"content": content, **options}))

    def forget(self, memory: UUID | str) -> None:
        """Forget a memory: it is no longer retrieved."""
        self._write(memory_path(memory), method="DELETE")

    def turns(self, session: str, turns: Iterable[TurnInput], **options: Unpack[ConversationOptions]) -> IngestJson:
        """Ingest turns of a conversation and extract memories from them."""
        return cast(IngestJson, self._write("turns/", {"session": session, "turns": list(turns), **options}))


def memory_path(memory: UUID | str) -> str:
    """The path of a memory, relative to the namespace."""
    return f"memories/{quote(str(memory), safe='')}/"
