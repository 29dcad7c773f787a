"""Input types of the tools, with descriptions for the model, and their structured output."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypedDict
from uuid import UUID

from pydantic import Field

from memories.contracts.answer import ContextEntry, OnLowConfidence, TimedOut
from memories.contracts.json_contract import JsonContract
from memories.models.choices import MemoryType, SourceLevel

StatementText = Annotated[str, Field(description="one self-contained statement, with names instead of pronouns")]
Type = Annotated[str, Field(json_schema_extra={"enum": list(MemoryType.values)})]
Subject = Annotated[str, Field(description="who or what it is about")]
Level = Annotated[
    str, Field(description="how directly it was said", json_schema_extra={"enum": list(SourceLevel.values)})
]
Evidence = Annotated[str, Field(description="the text it was taken from; the statement is checked against it")]
Tags = Annotated[list[str], Field(description="tags to filter by")]
User = Annotated[str, Field(description="the person it is about, or who asks the query")]
Session = Annotated[str, Field(description="your id of this conversation; an access counts once per session")]
Source = Annotated[str, Field(description="who or what said it, such as a document or a tool; by default the user")]
QueryText = Annotated[str, Field(description="a natural-language query or a few keywords")]
LowConfidence = Annotated[
    OnLowConfidence,
    Field(description="without a likely answer: abstain, or flag the nearest memories with low_confidence"),
]
Limit = Annotated[int, Field(description="maximum number of results")]
Budget = Annotated[int, Field(description="approximate token budget of the results")]
Id = Annotated[str, Field(description="the id of a memory, as returned by recall and remember")]


class RememberResult(TypedDict):
    """The outcome of a write."""

    outcome: str
    reason: str
    id: str
    confidence: float


@dataclass(frozen=True)
class RecallResult(JsonContract):
    """The retrieved memories, or why there are none."""

    trace: UUID | None
    memories: Sequence[ContextEntry]
    answer_probability: float
    low_confidence: bool
    reason: str
    timed_out: Sequence[TimedOut]


class ConfirmResult(TypedDict):
    """A memory after its confirmation."""

    id: str
    confidence: float


class ForgetResult(TypedDict):
    """A forgotten memory."""

    id: str
