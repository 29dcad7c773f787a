"""Why a memory is not among the results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from memories.contracts.answer import ParamValue
from memories.contracts.json_contract import JsonContract


@dataclass(frozen=True)
class ListRank(JsonContract):
    """A memory's rank in one retriever's full list."""

    rank: Annotated[int | None, "null: not in the list"]
    score: Annotated[float | None, "the retriever's own score"]
    why: Annotated[str, "why the list did not make it a candidate; empty: it did"]


@dataclass(frozen=True)
class ParamChange(JsonContract):
    """A change of one parameter."""

    param: str
    before: ParamValue
    after: ParamValue
    fraction: Annotated[float, "size of the change as a fraction of its range"]
    rank: Annotated[int, "resulting rank of the memory"]


@dataclass(frozen=True, kw_only=True)
class WhyNot(JsonContract):
    """Why a memory is not among the results."""

    rank: Annotated[int | None, "null: not among the results"]
    exclusions: Annotated[Sequence[str], "why it cannot be a candidate"]
    gates: Annotated[Sequence[str], "the gates that filter it"]
    retrievers: Mapping[str, ListRank]
    score: float | None
    needed: Annotated[float | None, "the score of the last result"]
    change: Annotated[ParamChange | None, "the smallest change of one parameter that brings it in"]
    tried: Annotated[Sequence[str], "the parameters tried"]
    reason: str
