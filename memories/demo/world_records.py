"""The demo world's sources: one record type per JSON Lines file."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path

from memories.demo.typed_jsonl import read_jsonl

FOLDER = Path(__file__).parent
# The namespace's clock: 90 days after the worked example was stored.
CLOCK = datetime(2026, 3, 2, 12, tzinfo=UTC)


@dataclass(frozen=True)
class DemoTurn:
    """One utterance; its key is the session's plus its position."""

    key: str
    role: str
    text: str
    at: datetime

    @property
    def session(self) -> str:
        """Key of its session."""
        return self.key.rpartition("/")[0]


@dataclass(frozen=True)
class DemoSession:
    """One conversation with the assistant."""

    key: str
    title: str
    user: str
    started_at: datetime
    turns: tuple[DemoTurn, ...]

    @property
    def ended_at(self) -> datetime:
        """Time of its last turn, when its memories are stored."""
        return self.turns[-1].at


@dataclass(frozen=True)
class DemoEntity:
    """A person or thing the memories are about."""

    key: str
    name: str
    kind: str
    aliases: tuple[str, ...]


@dataclass(frozen=True)
class DemoRelation:
    """A relation between two entities."""

    source: str
    predicate: str
    target: str
    confidence: float


@dataclass(frozen=True)
class UnresolvedSubject:
    """A subject without an entity, by its surface form."""

    surface: str


@dataclass(frozen=True)
class DemoSource:
    """A turn that states a memory, and how directly."""

    turn: str
    level: str


@dataclass(frozen=True)
class DemoExtractor:
    """The model that extracted a memory."""

    model: str
    logprobs: tuple[float, ...] = ()


@dataclass(frozen=True)
class DemoDocument:
    """A document or tool that states a memory as well, and when it was read."""

    source: str
    at: datetime


@dataclass(frozen=True)
class DemoMemory:
    """One memory with its evidence and use."""

    key: str
    type: str
    subject: str | UnresolvedSubject
    predicate: str
    object: str | None
    content: str
    sources: tuple[DemoSource, ...]
    extractor: DemoExtractor
    entities: tuple[str, ...]
    tags: tuple[str, ...]
    kind: str
    user: str
    session: str
    importance: float
    quality: float
    observed: tuple[str, ...]
    access_days: tuple[date, ...]
    useful: int
    not_useful: int
    evidence: str = ""
    source: str = ""  # by default the user
    documents: tuple[DemoDocument, ...] = ()
    provenance_depth: int = 0
    confirmed_at: datetime | None = None
    event_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True)
class DemoLink:
    """A pair of memories: one of the ten edge kinds, or the expected deduplication verdict."""

    source: str
    kind: str
    target: str
    cosine: float | None = None


@dataclass(frozen=True)
class DemoQuery:
    """A judged query with graded memories; tempting wrong answers have grade 0."""

    query: str
    category: str
    grades: Mapping[str, int]
    user: str

    @property
    def answerable(self) -> bool:
        """Whether any memory answers it; an unanswerable query has near misses only."""
        return any(self.grades.values())


@dataclass(frozen=True)
class DemoAnnotation:
    """An annotator's opinion on a memory: its type, correctness and confidence."""

    memory: str
    annotator: str
    type: str
    right: bool
    confidence: float
    domain: str


@dataclass(frozen=True)
class DemoWorld:
    """All records, by key where they have one."""

    sessions: Mapping[str, DemoSession]
    entities: Mapping[str, DemoEntity]
    edges: tuple[DemoRelation, ...]
    memories: Mapping[str, DemoMemory]
    links: tuple[DemoLink, ...]
    queries: tuple[DemoQuery, ...]
    annotations: tuple[DemoAnnotation, ...]

    @cached_property
    def turns(self) -> Mapping[str, DemoTurn]:
        """All turns by key."""
        return {turn.key: turn for session in self.sessions.values() for turn in session.turns}

    @cached_property
    def started_at(self) -> datetime:
        """Start of the first session."""
        return min(session.started_at for session in self.sessions.values())

    @cached_property
    def first_session_of(self) -> Mapping[str, str]:
        """First session mentioning each entity; entities in no memory belong to the first session of all."""
        first = min(self.sessions.values(), key=lambda session: session.started_at).key
        latest_first = sorted(self.memories.values(), key=self.stored_at, reverse=True)
        named = {entity: memory.session for memory in latest_first for entity in memory.entities}
        return dict.fromkeys(self.entities, first) | named

    @cached_property
    def corrections(self) -> Mapping[str, str]:
        """Superseded memory by the one that replaces it."""
        return {link.source: link.target for link in self.links if link.kind == "supersedes"}

    def stored_at(self, memory: DemoMemory) -> datetime:
        """When a memory is stored: at the end of its session."""
        return self.sessions[memory.session].ended_at


def read_demo_world(folder: Path = FOLDER) -> DemoWorld:
    """Read all seven files."""
    return DemoWorld(
        sessions={row.key: row for row in read_jsonl(DemoSession, folder / "sessions.jsonl")},
        entities={row.key: row for row in read_jsonl(DemoEntity, folder / "entities.jsonl")},
        edges=tuple(read_jsonl(DemoRelation, folder / "edges.jsonl")),
        memories={row.key: row for row in read_jsonl(DemoMemory, folder / "memories.jsonl")},
        links=tuple(read_jsonl(DemoLink, folder / "links.jsonl")),
        queries=tuple(read_jsonl(DemoQuery, folder / "judgements.jsonl")),
        annotations=tuple(read_jsonl(DemoAnnotation, folder / "annotations.jsonl")),
    )
