"""ChatGPT: conversations.json of a data export, a tree of messages per conversation."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memories.contracts.text_limits import MAX_TURNS
from memories.transfer.formats.values import present, timestamp

NAME, TITLE = "chatgpt", "conversations of ChatGPT"
ROLES = ("user", "assistant")


def matches(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Each has a mapping of nodes."""
    return all(isinstance(row.get("mapping"), Mapping) for row in rows)


def bodies(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The turns of the branch that was last shown, in order; a long conversation takes several bodies."""
    for place, row in enumerate(rows, start=1):
        turns = [turn for message in shown_messages(row) if (turn := turn_of(message))]
        session = str(row.get("conversation_id") or row.get("id") or f"chatgpt {place}")
        for start in range(0, len(turns), MAX_TURNS):
            part = [
                {**turn, "position": start + number} for number, turn in enumerate(turns[start : start + MAX_TURNS], 1)
            ]
            yield present(session=session, title=str(row.get("title") or "")[:200], turns=part)


def shown_messages(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages from the root to the current node."""
    mapping, node, seen = row["mapping"], row.get("current_node"), set[Any]()
    node = node if node in mapping else next(reversed(mapping), None)
    messages = []
    while node is not None and node in mapping and node not in seen:
        seen.add(node)
        messages.append(mapping[node].get("message") or {})
        node = mapping[node].get("parent")
    return messages[::-1]


def turn_of(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """A message as a turn; none if it says nothing or nobody said it."""
    role = (message.get("author") or {}).get("role")
    parts = (message.get("content") or {}).get("parts") or ()
    text = "\n".join(part for part in parts if isinstance(part, str)).strip()
    if role not in ROLES or not text:
        return None
    return present(role=role, text=text, said_at=timestamp(message.get("create_time")))
