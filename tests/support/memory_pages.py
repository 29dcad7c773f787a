"""The memories that the list and the page of one memory show."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.test import Client

from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import Namespace
from memories.writing.remember import remember

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
MEMORIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("Maya drinks her coffee black", "Preference", {"tags": ("food",), "days": 3, "session": "breakfast"}),
    ("Maya prefers PostgreSQL for every new service", "Preference", {"tags": ("database",), "days": 20}),
    ("Invoicing stores its data in PostgreSQL 16", "Fact", {"tags": ("database", "billing"), "days": 40}),
    ("Jonas left Arrive for a bank in Oslo", "Event", {"days": 200}),
    ("The kitchen might get a new oven", "Fact", {"level": "speculation", "days": 500}),
)


def store_memories(namespace: Namespace, told: tuple[tuple[str, str, dict[str, Any]], ...]) -> None:
    news = [
        NewMemory(
            content=content,
            type=type,
            utterances=(Utterance(more.get("level", "direct")),),
            model="haiku",
            tags=more.get("tags", ()),
            session=more.get("session", ""),
            created_at=NOW - timedelta(days=more["days"]),
            entities=tuple(name for name in ("Maya", "PostgreSQL") if name in content),
        )
        for content, type, more in told
    ]
    remember(namespace, news, by="tests")


def page_text(client: Client, address: str = "/home/memories/", status: int = 200) -> str:
    """A page, its whitespace collapsed as a browser does."""
    answer = client.get(address)
    assert answer.status_code == status
    return " ".join(answer.content.decode().split())


def fill_home(home: Namespace) -> Namespace:
    """Remember `TOLD` in a namespace whose clock stands at `NOW`."""
    home.clock = NOW
    home.save()
    store_memories(home, MEMORIES)
    return home
