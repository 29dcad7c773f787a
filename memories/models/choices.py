"""The choices of the models' fields, in the papers' terms."""

from django.db.models import TextChoices

# The built-in embedders and their dimensions; each has an index of its own.
EMBEDDERS = {"all-MiniLM-L6-v2": 384, "wordllama-256": 256}


class Mode(TextChoices):
    """What a namespace is for: selects contextdb's preset, and is where its served configuration starts."""

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
    """How much of a conversation a memory holds; a summary summarises facts."""

    SESSION = "session"
    TURN = "turn"
    FACT = "fact"
    SUMMARY = "summary"


# The levels that state something; the others are chunks of conversations.
STATEMENTS = (ChunkLevel.FACT, ChunkLevel.SUMMARY)


class Kind(TextChoices):
    """How long a memory stays useful; selects contextdb's decay."""

    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    GENERAL = "general"


class Status(TextChoices):
    """The status of a memory; retrieval sees the active ones."""

    ACTIVE = "active"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    REJECTED = "rejected"
    FORGOTTEN = "forgotten"


class Grounding(TextChoices):
    """How far the source supports a memory."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    UNSUPPORTED = "unsupported"


class SourceLevel(TextChoices):
    """How directly a source states a memory."""

    DIRECT = "direct"
    CONFIRMATION = "confirmation"
    STRONG_INFERENCE = "strong_inference"
    WEAK_INFERENCE = "weak_inference"
    SPECULATION = "speculation"


class TurnRole(TextChoices):
    """The role of a turn's speaker."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Route(TextChoices):
    """Which text of a memory a vector embeds: memsense's seven, and the memory with the turn before it."""

    FULL = "vec_full"
    USER = "vec_user"
    ASSISTANT = "vec_asst"
    NEXT_USER = "vec_next_user"
    CONTEXT = "vec_context"
    PERSONAL_INFO = "facet_personal_info"
    PREFERENCES = "facet_preferences"
    EVENTS = "facet_events"


class EdgeKind(TextChoices):
    """How one memory relates to another."""

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
    """The verdict on an escalated pair."""

    PENDING = "pending"
    DUPLICATE = "duplicate"
    DISTINCT = "distinct"
    CONTRADICTION = "contradiction"


class QueryKind(TextChoices):
    """Whether a judged query is answerable from what was stored."""

    ANSWERABLE = "answerable"
    UNANSWERABLE = "unanswerable"


class Split(TextChoices):
    """The split of a judged query: for tuning, or held out."""

    TUNE = "tune"
    HOLDOUT = "holdout"


class JobKind(TextChoices):
    """The kinds of jobs."""

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
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
