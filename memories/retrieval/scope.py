"""Which memories may be candidates, as an SQL condition on `memories_memory m`."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memories.models.choices import Status
from memories.retrieval.as_of import Past
from memories.retrieval.query import Query

ACTIVE_AS_OF = f"""(
    m.created_at <= %(as_of)s
    AND (m.status = '{Status.ACTIVE}' AND m.id <> ALL(%(active_since)s::uuid[]) OR m.id = ANY(%(hidden_since)s::uuid[]))
)"""


@dataclass(frozen=True)
class CandidateScope:
    """An SQL condition with its values."""

    condition: str
    active: str  # the part about status, as of the query's time
    values: dict[str, Any] = field(default_factory=dict)
    plain: bool = True  # no filters and no as_of: only status and level count, which vectors and postings store too
    hidden_since: tuple[UUID, ...] = ()  # active as of the query's time, hidden since

    @classmethod
    def for_query(cls, query: Query) -> "CandidateScope":
        """Active, and of the levels, types, tags and users of the query."""
        filters, values = query.filters, {"namespace": query.namespace.id, "levels": list(query.levels)}
        past = Past.load(query.namespace, query.as_of) if query.as_of else None
        active = f"m.status = '{Status.ACTIVE}'" if past is None else ACTIVE_AS_OF
        if past is not None:
            values |= {
                "as_of": past.as_of,
                "active_since": list(past.active_since),
                "hidden_since": list(past.hidden_since),
            }
        conditions = ["m.namespace_id = %(namespace)s", "m.level = ANY(%(levels)s)", active]
        if filters.types:
            conditions.append("m.type = ANY(%(types)s) AND NOT m.type_uncertain")
        if filters.users:
            conditions.append('m."user" = ANY(%(users)s)')
        if filters.tags:
            tagged = "t.namespace_id = m.namespace_id AND t.memory_id = m.id AND t.tag = ANY(%(tags)s)"
            conditions.append(f"EXISTS (SELECT 1 FROM memories_memorytag t WHERE {tagged})")
        values |= {"types": list(filters.types), "users": list(filters.users), "tags": list(filters.tags)}
        plain = past is None and not (filters.types or filters.users or filters.tags)
        return cls(" AND ".join(conditions), active, values, plain, past.hidden_since if past else ())
