"""Every table, by topic."""

from memories.models.annotation import Annotation
from memories.models.evidence import MemorySource, ReviewItem, ScoreEvent, Session, Turn
from memories.models.graph import Cluster, Entity, EntityAlias, EntityEdge, MemoryEdge, Mention, NameKey
from memories.models.job import Job
from memories.models.judgement import Evaluation, JudgedQuery, Judgement, JudgementSet, PooledMemory
from memories.models.memory import Memory, MemoryTag
from memories.models.namespace import ApiKey, Membership, Namespace
from memories.models.text import Document, NamespaceStatistics, Posting, PostingBlock, PredicatePosting, TermStatistic
from memories.models.trace import Trace
from memories.models.traced import TracedQuery, TracedSet
from memories.models.tuning import Profile, ProfileVersion, Publication, Shadow, WritePolicy, WritePolicyVersion
from memories.models.upload import Upload
from memories.models.usage import DailyAccess, IdempotencyRecord, SessionReturn
from memories.models.vector import MemoryVector, TokenStates

__all__ = [
    "Annotation",
    "ApiKey",
    "Cluster",
    "DailyAccess",
    "Document",
    "Entity",
    "EntityAlias",
    "EntityEdge",
    "Evaluation",
    "IdempotencyRecord",
    "Job",
    "JudgedQuery",
    "Judgement",
    "JudgementSet",
    "Membership",
    "Memory",
    "MemoryEdge",
    "MemorySource",
    "MemoryTag",
    "MemoryVector",
    "Mention",
    "NameKey",
    "Namespace",
    "NamespaceStatistics",
    "PooledMemory",
    "Posting",
    "PostingBlock",
    "PredicatePosting",
    "Profile",
    "ProfileVersion",
    "Publication",
    "ReviewItem",
    "ScoreEvent",
    "Session",
    "SessionReturn",
    "Shadow",
    "TermStatistic",
    "TokenStates",
    "Trace",
    "TracedQuery",
    "TracedSet",
    "Turn",
    "Upload",
    "WritePolicy",
    "WritePolicyVersion",
]
