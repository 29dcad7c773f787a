"""EvidenceState: the evidence behind a memory's confidence and belief, and every change as an event."""

from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, Self, TypeAlias
from uuid import UUID

import numpy as np
from django.db import connection

from memories.models import Memory, MemorySource, Namespace, ScoreEvent
from memories.models.choices import SourceLevel
from memories.models.evidence import HISTORY_COLUMNS
from memories.writing.bulk_copy import SharedJson
from scoring import belief as beliefs
from scoring.belief import Belief
from scoring.confidence import utility
from scoring.dedup import normalize
from scoring.evidence import Evidence, extractor_signal, merge_evidence, prior_signal, source_signal
from scoring.policy import WritePolicyParams
from scoring.systems import recall
from scoring.term import Term, Tree, const, feature

SourceKey: TypeAlias = tuple[UUID | None, UUID | None, str]
# Sources that supporting memories had when they began to corroborate.
CORROBORATION_SQL = """
    SELECT e.target_id, s.source
    FROM memories_memoryedge e
    JOIN memories_scoreevent v ON v.namespace_id = e.namespace_id AND v.memory_id = e.target_id
        AND v.other_id = e.source_id AND v.cause = 'corroborated'
    JOIN memories_memorysource s ON s.namespace_id = e.namespace_id AND s.memory_id = e.source_id AND s.id < v.id
    WHERE e.namespace_id = %(namespace)s AND e.target_id = ANY(%(ids)s) AND e.kind = 'supports'
"""


class Origin(NamedTuple):
    """Where a memory was observed: the session, who or what said it, the turn, and whether the turn asserts it."""

    session: UUID | None
    source: str  # normalised; empty if unknown, which counts as one source
    turn: UUID | None = None
    asserts: bool = True  # speculation asserts nothing


class SourceSummary(NamedTuple):
    """The source levels and types of a memory and those merged into it; an uncertain type is empty."""

    levels: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()


def source_key(row: Any) -> SourceKey:
    """The unique key of a source: its turn, else its session and name."""
    return (None, row.turn_id, "") if row.turn_id else (row.session_id, None, row.source)


def observation_origin(session: UUID | None, source: str, turn: UUID | None, level: str) -> Origin:
    """The origin of one observation."""
    return Origin(session, normalize(source), turn, level != SourceLevel.SPECULATION)


def source_origins(rows: Iterable[MemorySource]) -> set[Origin]:
    """The origins of source rows."""
    return {observation_origin(row.session_id, row.source, row.turn_id, row.level) for row in rows}


def join_origins(origins: Iterable[Origin]) -> set[Origin]:
    """The origins without repeats: a turn is one, and so are a session and source without a turn; the first counts."""
    joined: dict[tuple[Any, ...], Origin] = {}
    for origin in origins:
        key = (origin.turn,) if origin.turn else (origin.session, origin.source)
        first = joined.setdefault(key, origin)
        joined[key] = first._replace(asserts=first.asserts or origin.asserts)
    return set(joined.values())


def observation_count(origins: Iterable[Origin]) -> int:
    """The independent observations: every turn that asserts the memory, else one per session and source.

    Speculation counts as a session's first mention only: later it repeats what was said.
    """
    turns: dict[tuple[UUID | None, str], dict[UUID, bool]] = {}
    for origin in origins:
        said = turns.setdefault((origin.session, origin.source), {})
        if origin.turn:
            said[origin.turn] = origin.asserts
    counts = (sum(said.values()) + (not said[min(said)] if said else 0) for said in turns.values())
    return sum(max(count, 1) for count in counts)


def named_sources(origins: Iterable[Origin]) -> set[str]:
    """Who or what made some observations, whatever the session."""
    return {origin.source for origin in origins}


def source_summary_sql(condition: str) -> str:
    """SQL for the source summaries of the memories `m` that satisfy `condition`."""
    type = "CASE WHEN m.type_uncertain THEN '' ELSE m.type END::text AS type"
    return f"""
        WITH RECURSIVE family AS (
            SELECT m.id AS head, m.id AS member, {type} FROM memories_memory m
            WHERE m.namespace_id = %(namespace)s AND {condition}
            UNION ALL
            SELECT family.head, m.id, {type} FROM family
            JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.merged_into_id = family.member
        )
        SELECT family.head AS memory_id, array_agg(DISTINCT family.type ORDER BY family.type) AS types,
            array_remove(array_agg(DISTINCT s.level ORDER BY s.level), NULL)::text[] AS levels
        FROM family LEFT JOIN memories_memorysource s ON s.namespace_id = %(namespace)s AND s.memory_id = family.member
        GROUP BY family.head
    """


def source_summaries(namespace: Namespace, ids: Collection[UUID]) -> dict[UUID, SourceSummary]:
    """The source summary of each memory."""
    with connection.cursor() as cursor:
        cursor.execute(source_summary_sql("m.id = ANY(%(ids)s)"), {"namespace": namespace.id, "ids": list(ids)})
        return {
            memory: SourceSummary(frozenset(levels), frozenset(types)) for memory, types, levels in cursor.fetchall()
        }


def corroborating_sources(namespace: Namespace, ids: Collection[UUID]) -> dict[UUID, set[str]]:
    """The sources that corroborate memories through supporting memories."""
    sources: dict[UUID, set[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(CORROBORATION_SQL, {"namespace": namespace.id, "ids": list(ids)})
        for memory, source in cursor.fetchall():
            sources.setdefault(memory, set()).add(normalize(source))
    return sources


@dataclass
class EvidenceState:
    """A memory, its evidence, and the events its changes produce."""

    memory: Memory
    evidence: Evidence
    policy: WritePolicyParams
    origins: set[Origin]
    entities: set[UUID]
    corroborators: set[str] = field(default_factory=set)  # sources of other memories that support this one
    events: list[ScoreEvent] = field(default_factory=list)
    recorded: dict[str, Any] = field(init=False)  # the columns as last recorded
    explanation: Tree = field(default_factory=dict)  # derivation of the confidence
    belief_term: Term | None = None  # derivation of the belief since the last event

    def __post_init__(self) -> None:
        self.recorded = {} if self.memory._state.adding else self.history_columns()

    def observe(self, origins: Set[Origin], evidence: Evidence, unsourced: int = 0) -> bool:
        """Keep the stronger of each signal and count new observations, plus those without an origin.

        Belief rises by sources alone: another session of the same source repeats and does not corroborate. Return
        whether any observation is new.
        """
        joined = join_origins([*self.origins, *sorted(origins, key=str)])
        new_sources = self.independent_sources(named_sources(joined))
        observed = observation_count(joined) - observation_count(self.origins)
        self.origins = joined
        combined = merge_evidence(self.evidence, evidence, self.policy)
        self.evidence = replace(combined, repetitions=self.evidence.repetitions + observed + unsourced)
        for _ in new_sources:
            self._update_belief("corroboration")
        return bool(observed)

    def corroborate(self, sources: Set[str]) -> None:
        """Count support by another memory from sources that have not counted yet."""
        for _ in sources:
            self._update_belief("corroboration")
        self.corroborators |= sources

    @property
    def sources(self) -> set[str]:
        """Who or what stated the memory itself."""
        return named_sources(self.origins)

    def independent_sources(self, sources: Set[str]) -> Set[str]:
        """The sources that have not counted for this memory."""
        return sources - self.sources - self.corroborators

    def contradict(self) -> None:
        """Count a contradiction by another memory."""
        self._update_belief("contradiction")

    def _update_belief(self, sign: beliefs.EvidenceKind) -> None:
        before = Belief(self.memory.belief, self.memory.corroborations, self.memory.contradictions)
        policy = self.policy
        after = beliefs.update_belief(
            before,
            sign,
            boost=policy.belief_boost,
            penalty=policy.belief_penalty,
            protected=policy.belief_protected,
            needed=policy.belief_needed,
        )
        self.memory.belief, self.memory.corroborations, self.memory.contradictions = after
        # Continue from updates not recorded in an event yet.
        start = self.belief_term or feature("belief before", np.asarray(before.value))
        self.belief_term = belief_step(start, sign, after.corroborations, policy)

    def record(self, at: datetime, cause: str, by: str, other: UUID | None = None, **columns: Any) -> None:
        """Write the scores of the current evidence to the memory and record the change as an event."""
        numbers, self.explanation = evidence_columns(self.evidence, self.policy)
        for name, value in {**numbers, **columns}.items():
            setattr(self.memory, name, value)
        after = self.history_columns()
        before, self.recorded = self.recorded, after
        belief_term, self.belief_term = self.belief_term, None
        changed = {name: value for name, value in after.items() if before.get(name, self) != value}
        if not changed:
            return
        parts = self._derivation(changed, belief_term) if before else initial_derivation(self.evidence, self.policy)
        self.events.append(
            ScoreEvent(
                namespace_id=self.memory.namespace_id,
                memory_id=self.memory.id,
                at=at,
                cause=cause,
                before={name: history_value(before[name]) for name in changed if name in before},
                after={name: history_value(value) for name, value in changed.items()},
                parts=parts,
                other_id=other,
                by=by,
            )
        )

    def give_reason(self, reason: str) -> None:
        """Add a reason to the last event."""
        self.events[-1].parts = {**self.events[-1].parts, "reason": reason}

    def _derivation(self, changed: Collection[str], belief_term: Term | None) -> Tree:
        """The derivation of what changed: confidence with belief beside it, else belief or utility."""
        tree: Tree = self.explanation if "confidence" in changed else {}
        if belief_term is not None and "belief" in changed:
            return {**tree, "belief": belief_term.tree()} if tree else belief_term.tree()
        if not tree and ("useful" in changed or "not_useful" in changed):
            counts = (feature(name, np.asarray(float(getattr(self.memory, name)))) for name in ("useful", "not_useful"))
            return utility(*counts).with_name("utility").tree()
        return tree

    @property
    def scores(self) -> dict[str, Tree]:
        """The derivation of each score besides confidence, from its events; untouched scores are as given."""
        values = {name: getattr(self.memory, name) for name in ("belief", "importance", "quality", "memory_score")}
        trees = {name: feature(name, np.asarray(value)).tree() for name, value in values.items() if value is not None}
        for event in self.events:
            for tree in (event.parts, event.parts.get("belief", {})):
                if tree.get("name") in ("belief", "utility"):
                    trees[tree["name"]] = tree
        return trees

    def history_columns(self) -> dict[str, Any]:
        """The columns whose changes are recorded."""
        return {name: getattr(self.memory, name) for name in HISTORY_COLUMNS}

    @classmethod
    def from_rows(
        cls, memory: Memory, summary: SourceSummary, corroborators: set[str], policy: WritePolicyParams
    ) -> Self:
        """Rebuild the evidence of a stored memory from its rows."""
        origins = source_origins(memory.sources.all())
        entities = {mention.entity_id for mention in memory.mentions.all()}
        return cls(memory, evidence_from_columns(memory, summary), policy, origins, entities, corroborators)


def belief_step(belief: Term, sign: beliefs.EvidenceKind, corroborations: int, policy: WritePolicyParams) -> Term:
    """One belief update as a term; `corroborations` counts this one."""
    step = policy["belief_boost"] if sign == "corroboration" else -policy["belief_penalty"]
    unprotected = corroborations >= policy.belief_needed
    ceiling = const(beliefs.MAX_BELIEF) if unprotected else policy["belief_protected"]
    return beliefs.step_belief(belief, step, ceiling).with_name("belief")


def evidence_from_columns(memory: Any, summary: SourceSummary) -> Evidence:
    """The evidence in a memory's columns and sources."""
    type = "" if memory.type_uncertain else memory.type
    return Evidence(
        levels=summary.levels,
        repetitions=memory.repetitions,
        type=type,
        absorbed=summary.types - {type},
        model=memory.extractor_model,
        logprob=memory.extractor_logprob,
        grounding=memory.grounding,
        confirmed=memory.confirmed_at is not None,
    )


def history_value(value: Any) -> Any:
    """A column value as stored in events."""
    return value.isoformat() if isinstance(value, datetime) else value


@lru_cache(maxsize=1024)
def evidence_columns(evidence: Evidence, policy: WritePolicyParams) -> tuple[dict[str, Any], Tree]:
    """The columns computed from evidence, and the derivation of the confidence. Cached: much evidence is equal."""
    confidence = recall.memory_confidence(evidence, policy)
    columns = {
        "source_strength": float(source_signal(evidence, policy).value),
        "repetitions": evidence.repetitions,
        "extractor_confidence": float(extractor_signal(evidence, policy).value),
        "extractor_model": evidence.model,
        "extractor_logprob": evidence.logprob,
        "type_prior": float(prior_signal(evidence, policy).value),
        "grounding": evidence.grounding,
        "grounding_penalty": policy.grounding_penalty if evidence.grounding == "partial" else 0.0,
        "confidence": float(confidence.value),
    }
    return columns, SharedJson(confidence.tree())


@lru_cache(maxsize=1024)
def initial_derivation(evidence: Evidence, policy: WritePolicyParams) -> Tree:
    """The derivation of a new memory's confidence and initial belief."""
    return SharedJson(
        {**evidence_columns(evidence, policy)[1], "belief": policy["belief_start"].with_name("belief").tree()}
    )


def load_evidence(namespace: Namespace, ids: Iterable[UUID], policy: WritePolicyParams) -> dict[UUID, EvidenceState]:
    """The evidence states of stored memories, five SQL queries for all of them."""
    id_set = set(ids)
    if not id_set:
        return {}
    memories = (
        Memory.objects.within(namespace).filter(id__in=id_set).order_by("id").prefetch_related("sources", "mentions")
    )
    summaries, corroborators = source_summaries(namespace, id_set), corroborating_sources(namespace, id_set)
    return {
        memory.id: EvidenceState.from_rows(memory, summaries[memory.id], corroborators.get(memory.id, set()), policy)
        for memory in memories
    }
