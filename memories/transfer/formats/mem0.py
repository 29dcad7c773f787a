"""mem0: what `get_all` returns, one object per memory."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memories.transfer.formats.values import present, timestamp

NAME, TITLE = "mem0", "an export of mem0"


def matches(rows: Sequence[Mapping[str, Any]]) -> bool:
    """The text is called memory."""
    return all(isinstance(row.get("memory"), str) and "id" in row for row in rows)


def bodies(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Users, agents and runs stay; categories become tags."""
    for row in rows:
        metadata = row.get("metadata")
        yield present(
            content=row["memory"],
            user=row.get("user_id"),
            agent=row.get("agent_id"),
            session=row.get("run_id"),
            tags=row.get("categories"),
            created_at=timestamp(row.get("created_at")),
            metadata={**(metadata if isinstance(metadata, Mapping) else {}), "mem0_id": row["id"]},
        )
