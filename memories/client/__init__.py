"""A client of the REST API for agents in Python: the standard library alone, no Django.

>>> recall = Recall("http://127.0.0.1:8000", "workshop", "rk_…")
>>> recall
Recall('http://127.0.0.1:8000', 'workshop')
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Unpack, cast, overload
from urllib.parse import quote
from uuid import UUID

from memories.client.shapes import (
    Answer,
    Asking,
    BatchItem,
    Change,
    Comparison,
    Conversation,
    Corrected,
    Heard,
    NewMemory,
    NewTurn,
    Outcome,
    Ranking,
    Replayed,
    Replaying,
    Retrieving,
    TraceRow,
    Tracing,
    WhyNot,
)
from memories.client.transport import RecallError, Transport
from memories.client.tuning import Tuning

__all__ = ["Recall", "RecallError"]


class Recall(Tuning):
    """One namespace of a Recall, opened by a key; a call that fails raises a RecallError."""

    def __init__(
        self,
        url: str,
        namespace: str,
        key: str,
        *,
        timeout: float = 30.0,  # seconds for each attempt
        attempts: int = 4,
        patience: float = 60.0,  # seconds that may pass between the attempts of one call
    ) -> None:
        self.url, self.namespace = url.rstrip("/"), namespace
        base = f"{self.url}/api/v1/{quote(namespace, safe='')}/"
        self._transport = Transport(base, key, timeout=timeout, attempts=attempts, patience=patience)

    def __repr__(self) -> str:
        return f"Recall({self.url!r}, {self.namespace!r})"

    def remember(self, content: str, *, dry_run: bool = False, **more: Unpack[NewMemory]) -> Outcome:
        """Remember one thing: it is stored, merged, escalated or rejected."""
        return cast(Outcome, self._write("memories/", {"content": content, **more}, dry_run=dry_run))

    def remember_batch(self, memories: Iterable[Mapping[str, Any]], *, dry_run: bool = False) -> list[BatchItem]:
        """Remember up to 1,000 things; one outcome for each, in their order."""
        told = self._write("memories/batch/", {"memories": list(memories)}, dry_run=dry_run)
        return cast(list[BatchItem], told["results"])

    @overload
    def retrieve(self, query: str, *, format: Literal["markdown"], **asked: Unpack[Retrieving]) -> str: ...
    @overload
    def retrieve(self, query: str, *, format: Literal["json"] = "json", **asked: Unpack[Retrieving]) -> Answer: ...
    def retrieve(self, query: str, *, format: str = "json", **asked: Unpack[Retrieving]) -> Answer | str:
        """Ask for memories; with format="markdown" the block to put before a prompt."""
        # Outside a session every answer counts as a use, so one that got lost must not be fetched twice.
        counts_twice = asked.get("record", True) and not asked.get("session")
        body = {"query": query, "format": format, **asked}
        return cast(Answer | str, self._transport.send("POST", "retrieve/", body, again=not counts_twice))

    def why_not(self, query: str, memory: UUID | str, **asked: Unpack[Ranking]) -> WhyNot:
        """Ask what kept a memory from coming back, and the smallest change that brings it in."""
        return cast(WhyNot, self._read("why-not/", {"query": query, "memory": memory, **asked}))

    def compare(self, query: str, **asked: Unpack[Asking]) -> Comparison:
        """Ask every system side by side."""
        return cast(Comparison, self._read("compare/", {"query": query, **asked}))

    def replay(self, trace: UUID | str, **asked: Unpack[Replaying]) -> Replayed:
        """Rank the candidates of a trace under other parameters."""
        return cast(Replayed, self._read("replay/", {"trace": trace, **asked}))

    def traces(self, **asked: Unpack[Tracing]) -> Iterator[TraceRow]:
        """Walk what was asked and how it went, newest first, page by page."""
        return self._walk("traces/", asked)

    def confirm(self, memory: UUID | str) -> Change:
        """Say that a memory is so."""
        return cast(Change, self._write(f"{place(memory)}confirm/"))

    def feedback(self, memory: UUID | str, *, useful: bool) -> Change:
        """Say whether a memory helped."""
        return cast(Change, self._write(f"{place(memory)}feedback/", {"useful": useful}))

    def correct(self, memory: UUID | str, content: str, **more: Unpack[NewMemory]) -> Corrected:
        """Say what is right instead; what is not named is taken over."""
        return cast(Corrected, self._write(f"{place(memory)}correct/", {"content": content, **more}))

    def forget(self, memory: UUID | str) -> None:
        """Take a memory out of every answer."""
        self._write(place(memory), method="DELETE")

    def turns(self, session: str, turns: Iterable[NewTurn], **more: Unpack[Conversation]) -> Heard:
        """Tell turns of a conversation, of which memories are made."""
        return cast(Heard, self._write("turns/", {"session": session, "turns": list(turns), **more}))


def place(memory: UUID | str) -> str:
    """The address of a memory."""
    return f"memories/{quote(str(memory), safe='')}/"
