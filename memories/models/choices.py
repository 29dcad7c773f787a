"""The closed vocabularies of the data, in the papers' own words."""

from django.db.models import TextChoices

# The embedders that ship, and the length of their vectors; each has an index of its own.
EMBEDDERS = {"all-MiniLM-L6-v2": 384, "wordllama-256": 256}


class Mode(TextChoices):
    """What a namespace is for; contextdb's presets hang on it."""

    BELIEF_SYSTEM = "belief_system"
    AGENT_MEMORY = "agent_memory"
    GENERAL = "general"
    PROCEDURAL = "procedural"


class Role(TextChoices):
    """What a member or a key may do; each includes the one before."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class MemoryType(TextChoices):
    """What a memory states."""

    ENTITY = "Entity"
    EVENT = "Event"
    FACT = "Fact"
    PREFERENCE = "Preference"
    RELATION = "Relation"


class ChunkLevel(TextChoices):
    """How much of a conversation a memory holds; a summary is made of facts."""

    SESSION = "session"
    TURN = "turn"
    FACT = "fact"
    SUMMARY = "summary"


# What states something by itself; the rest are pieces of conversations.
STATEMENTS = (ChunkLevel.FACT, ChunkLevel.SUMMARY)


class Kind(TextChoices):
    """How long a memory stays useful; contextdb's decay hangs on it."""

    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    GENERAL = "general"


class Status(TextChoices):
    """Where a memory stands; retrieval sees the active ones."""

    ACTIVE = "active"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    REJECTED = "rejected"
    FORGOTTEN = "forgotten"


class Grounding(TextChoices):
    """How far the source bears a memory out."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    UNSUPPORTED = "unsupported"


class SourceLevel(TextChoices):
    """How directly a source says it."""

    DIRECT = "direct"
    CONFIRMATION = "confirmation"
    STRONG_INFERENCE = "strong_inference"
    WEAK_INFERENCE = "weak_inference"
    SPECULATION = "speculation"


class TurnRole(TextChoices):
    """As what somebody says a turn."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Route(TextChoices):
    """Which text of a memory a vector stands for: memsense's seven, and the memory with the turn before it."""

    FULL = "vec_full"
    USER = "vec_user"
    ASSISTANT = "vec_asst"
    NEXT_USER = "vec_next_user"
    CONTEXT = "vec_context"
    PERSONAL_INFO = "facet_personal_info"
    PREFERENCES = "facet_preferences"
    EVENTS = "facet_events"


class EdgeKind(TextChoices):
    """How one memory bears on another."""

    SUPPORTS = "supports"
    EXTENDS = "extends"
    CONTINUATION = "continuation"
    DETAIL_OF = "detail_of"
    SUMMARY_OF = "summary_of"
    SIMILAR = "similar"
    REFERENCES = "references"
    DERIVED_FROM = "derived_from"
    CAUSED_BY = "caused_by"
    CONTRADICTION = "contradiction"


class Verdict(TextChoices):
    """What became of an escalated pair."""

    PENDING = "pending"
    DUPLICATE = "duplicate"
    DISTINCT = "distinct"
    CONTRADICTION = "contradiction"


class QueryKind(TextChoices):
    """Whether a judged query has an answer at all."""

    ANSWERABLE = "answerable"
    UNANSWERABLE = "unanswerable"


class Part(TextChoices):
    """Whether a judged query may be tuned on or is kept back to check."""

    TUNE = "tune"
    HOLDOUT = "holdout"


class JobKind(TextChoices):
    """What long work there is."""

    EVALUATE = "evaluate"
    GATE = "gate"
    IMPORT = "import"
    INDEX = "index"
    MEASURE = "measure"
    OPTIMISE = "optimise"
    POOL = "pool"
    RECOMPUTE = "recompute"
    REEMBED = "reembed"
    REFLECT = "reflect"
    SHADOW = "shadow"
    TRACE = "trace"


class JobState(TextChoices):
    """How far a piece of long work is."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
