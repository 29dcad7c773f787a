"""What a trace stores besides its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from memories.contracts.answer import Explanation, ParamValue
from memories.contracts.json_contract import JsonContract


@dataclass(frozen=True, kw_only=True)
class TraceRequest(JsonContract):
    """The options of a traced query."""

    top_k: int
    types: Sequence[str]
    tags: Sequence[str]
    users: Sequence[str]
    levels: Sequence[str]
    user: str
    session: str
    as_of: datetime | None
    on_low_confidence: Annotated[str, "abstain, or flag: results come back although they are unlikely to answer"]
    profile: Annotated[str, "empty: a system with its defaults, no profile"]
    version: int | None
    preset: Annotated[str, "of the system; empty: its defaults"]


@dataclass(frozen=True, kw_only=True)
class TracePlan(JsonContract):
    """The plan of a traced query."""

    name: str
    retrievers: Sequence[str]
    params: Annotated[Mapping[str, ParamValue], "parameters that the plan sets"]
    rerank: bool
    diversify: bool
    top_k: Annotated[int | None, "maximum number of results; null: as requested"]
    specificity: Annotated[Explanation | None, "null: the system has no planner"]
    reranker: Annotated[str, "empty: not reranked"]
