"""What the tools take, with a word for the model on each, and what they give to programs."""

from typing import Annotated, Any, TypedDict

from pydantic import Field

from memories.models.choices import MemoryType, SourceLevel

Statement = Annotated[str, Field(description="one statement that can stand by itself, with names, not pronouns")]
Type = Annotated[str, Field(json_schema_extra={"enum": list(MemoryType.values)})]
Subject = Annotated[str, Field(description="whom or what it is about")]
Level = Annotated[
    str, Field(description="how directly it was said", json_schema_extra={"enum": list(SourceLevel.values)})
]
Evidence = Annotated[str, Field(description="the words it was taken from; it is checked against them")]
Tags = Annotated[list[str], Field(description="words to find it by")]
User = Annotated[str, Field(description="the person it is about, or who asks")]
Session = Annotated[str, Field(description="your name for this conversation; a memory's use counts once in it")]
Question = Annotated[str, Field(description="a question or a few words, as a person would ask")]
Limit = Annotated[int, Field(description="how many at most")]
Budget = Annotated[int, Field(description="about how many tokens the memories may take")]
Id = Annotated[str, Field(description="the id of a memory, as recall and remember give it")]


class Kept(TypedDict):
    """What became of a memory."""

    outcome: str
    reason: str
    id: str
    confidence: float


class Recalled(TypedDict):
    """What came back, and why where nothing did."""

    trace: str | None
    memories: list[dict[str, Any]]
    reason: str
    late: list[dict[str, str]]


class Confirmed(TypedDict):
    """A memory after it was confirmed."""

    id: str
    confidence: float


class Forgotten(TypedDict):
    """A memory that is gone."""

    id: str
