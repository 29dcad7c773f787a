"""The demo world as it was written."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path

from memories.demo.typed_jsonl import lines

FOLDER = Path(__file__).parent
# The moment at which the world is looked at: 90 days after the worked example was stored.
CLOCK = datetime(2026, 3, 2, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Turn:
    """One utterance; its key is its session's and its place in it."""

    key: str
    role: str
    text: str
    at: datetime

    @property
    def session(self) -> str:
        """Name the session it was said in."""
        return self.key.rpartition("/")[0]


@dataclass(frozen=True)
class Session:
    """One conversation with the assistant."""

    key: str
    title: str
    user: str
    started_at: datetime
    turns: tuple[Turn, ...]

    @property
    def ended_at(self) -> datetime:
        """Tell when its last turn was said: then all that it says is written down."""
        return self.turns[-1].at


@dataclass(frozen=True)
class Entity:
    """Somebody or something the memories are about."""

    key: str
    name: str
    kind: str
    aliases: tuple[str, ...]


@dataclass(frozen=True)
class Edge:
    """A relation between two entities."""

    source: str
    predicate: str
    target: str
    confidence: float


@dataclass(frozen=True)
class Unresolved:
    """A subject that no entity could be found for, as it was said."""

    surface: str


@dataclass(frozen=True)
class Source:
    """A turn that says a memory, and how directly."""

    turn: str
    level: str


@dataclass(frozen=True)
class Extractor:
    """The model that read a memory out of the conversation."""

    model: str
    logprobs: tuple[float, ...] = ()


@dataclass(frozen=True)
class Memory:
    """One thing remembered, and every later sign of it."""

    key: str
    type: str
    subject: str | Unresolved
    predicate: str
    object: str | None
    content: str
    sources: tuple[Source, ...]
    extractor: Extractor
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
    provenance_depth: int = 0
    confirmed_at: datetime | None = None
    event_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True)
class Link:
    """How one memory bears on another: one of the ten kinds of edge, or what deduplication makes of the pair."""

    source: str
    kind: str
    target: str
    cosine: float | None = None


@dataclass(frozen=True)
class Question:
    """A judged query: the memories that answer it, each with its grade, and some that only seem to, with grade 0."""

    query: str
    category: str
    grades: Mapping[str, int]
    user: str

    @property
    def answerable(self) -> bool:
        """Tell whether any memory answers it; one that was never stored has nearest misses alone."""
        return any(self.grades.values())


@dataclass(frozen=True)
class Annotation:
    """What an annotator says of a memory: its type, whether it is right, and how far to trust it."""

    memory: str
    annotator: str
    type: str
    right: bool
    confidence: float


@dataclass(frozen=True)
class World:
    """Everything that was written, by key where it has one."""

    sessions: Mapping[str, Session]
    entities: Mapping[str, Entity]
    edges: tuple[Edge, ...]
    memories: Mapping[str, Memory]
    links: tuple[Link, ...]
    questions: tuple[Question, ...]
    annotations: tuple[Annotation, ...]

    @cached_property
    def turns(self) -> Mapping[str, Turn]:
        """Give every turn of every session."""
        return {turn.key: turn for session in self.sessions.values() for turn in session.turns}

    @cached_property
    def began(self) -> datetime:
        """Tell when the first conversation began."""
        return min(session.started_at for session in self.sessions.values())

    @cached_property
    def first_named(self) -> Mapping[str, str]:
        """Name the session in which each entity is first heard of; one that no memory names is known from the start."""
        first = min(self.sessions.values(), key=lambda session: session.started_at).key
        latest_first = sorted(self.memories.values(), key=self.told_at, reverse=True)
        named = {entity: memory.session for memory in latest_first for entity in memory.entities}
        return dict.fromkeys(self.entities, first) | named

    @cached_property
    def corrections(self) -> Mapping[str, str]:
        """Give for each memory that takes the place of another the one that gives way."""
        return {link.source: link.target for link in self.links if link.kind == "supersedes"}

    def told_at(self, memory: Memory) -> datetime:
        """Tell when a memory was written down."""
        return self.sessions[memory.session].ended_at


def read(folder: Path = FOLDER) -> World:
    """Read the seven files."""
    return World(
        sessions={row.key: row for row in lines(Session, folder / "sessions.jsonl")},
        entities={row.key: row for row in lines(Entity, folder / "entities.jsonl")},
        edges=tuple(lines(Edge, folder / "edges.jsonl")),
        memories={row.key: row for row in lines(Memory, folder / "memories.jsonl")},
        links=tuple(lines(Link, folder / "links.jsonl")),
        questions=tuple(lines(Question, folder / "judgements.jsonl")),
        annotations=tuple(lines(Annotation, folder / "annotations.jsonl")),
    )
