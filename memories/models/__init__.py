"""Every table, by topic."""

from memories.models.evidence import MemorySource, ReviewItem, ScoreEvent, Session, Turn
from memories.models.graph import Cluster, Entity, EntityAlias, EntityEdge, MemoryEdge, Mention
from memories.models.job import Job
from memories.models.judgement import Evaluation, JudgedQuery, Judgement, JudgementSet
from memories.models.memory import Memory, MemoryTag
from memories.models.namespace import ApiKey, Membership, Namespace
from memories.models.text import NamespaceStatistics, Posting, TermStatistic
from memories.models.trace import Trace
from memories.models.tuning import Profile, ProfileVersion, Publication, WritePolicy, WritePolicyVersion
from memories.models.usage import DailyAccess, IdempotencyRecord, SessionReturn
from memories.models.vector import MemoryVector, TokenStates

__all__ = [
    "ApiKey",
    "Cluster",
    "DailyAccess",
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
    "Namespace",
    "NamespaceStatistics",
    "Posting",
    "Profile",
    "ProfileVersion",
    "Publication",
    "ReviewItem",
    "ScoreEvent",
    "Session",
    "SessionReturn",
    "TermStatistic",
    "TokenStates",
    "Trace",
    "Turn",
    "WritePolicy",
    "WritePolicyVersion",
]
