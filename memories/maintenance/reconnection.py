"""Memories and the entities registered after them: subjects are resolved, mentions and relations added."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from memories.contracts.new_memory import NewMemory
from memories.contracts.work import Work
from memories.maintenance.reflection_scope import first_new_id, in_batches, record_example, remaining
from memories.models import Entity, EntityAlias, EntityEdge, Memory, Mention
from memories.models.choices import ChunkLevel, Status
from memories.text.entity_mentions import entities_in
from memories.text.entity_registry import EntityRegistry, KnownEntity
from memories.writing.bulk_copy import bulk_update_columns
from memories.writing.comparison import are_distinct, disambiguated_hash
from memories.writing.evidence import EvidenceState
from memories.writing.lock import lock_memories, lock_namespace
from memories.writing.merge import merge_memories
from memories.writing.resolve import EntityResolver, ResolvedEntities
from memories.writing.supersede import awaits_correction
from scoring.dedup import content_hash

MEMORIES_PER_BATCH = 500


@dataclass(frozen=True)
class NewNames:
    """Entities that are new or have a new alias, and the id of the newest name of each: ids sort by time."""

    registry: EntityRegistry
    newest: dict[UUID, UUID]

    def __bool__(self) -> bool:
        return bool(self.newest)

    @property
    def last(self) -> UUID:
        """The newest name's id; later memories were resolved with all names."""
        return max(self.newest.values())

    def may_occur_in(self, memory: Memory) -> bool:
        """Whether a memory may name one of them; only the full registry decides."""
        names = [memory.object] if memory.object else []
        names += [memory.subject_surface] if memory.subject_fallback else []
        return any(self.registry.candidates_for_all(names)) or bool(entities_in(memory.content, self.registry))

    def later_than(self, memory: Memory, entity: UUID) -> bool:
        """Whether an entity or its newest alias was added after a memory was stored."""
        return entity in self.newest and self.newest[entity] > memory.id


@dataclass(frozen=True)
class ReresolvedMemory:
    """A memory, and the entities it names by today's registry."""

    memory: Memory
    resolved: ResolvedEntities
    gains_subject: bool  # until now it had only a fallback

    @property
    def hash(self) -> bytes:
        """The content hash under the subject's canonical name."""
        memory = self.memory
        return content_hash(memory.type, self.resolved.subject_name, memory.predicate, memory.content)


def reconnect(work: Work) -> None:
    """Resolve again all memories older than the newest entity or alias."""
    names = load_new_names(work)
    work.record_progress(0, None, looked_at=0, resolved=0, merged=0, mentions=0, relations=0)
    if not names:
        return
    facts = Memory.objects.within(work.namespace).filter(status=Status.ACTIVE, level=ChunkLevel.FACT)
    ids = list(facts.filter(id__lt=names.last).order_by("id").values_list("id", flat=True))
    waiting = remaining(work, ids)
    done = len(ids) - len(waiting)
    for batch in in_batches(waiting, MEMORIES_PER_BATCH):
        likely = [memory.id for memory in facts.filter(id__in=batch) if names.may_occur_in(memory)]
        with transaction.atomic():
            lock_namespace(work.namespace)
            counts = write_connections(work, list(reresolve(work, likely)), names)
            done += len(batch)
            work.step_result["through"] = str(batch[-1])
            work.record_progress(done, len(ids), looked_at=len(batch), **counts)


def load_new_names(work: Work) -> NewNames:
    """The entities that were added or got an alias since the last reflection."""
    since, newest_alias = first_new_id(work), {}
    aliases: dict[UUID, list[str]] = defaultdict(list)
    rows = Entity.objects.within(work.namespace).order_by("id").values_list("id", "name", "kind")
    for alias, entity, name in (
        EntityAlias.objects.within(work.namespace).order_by("id").values_list("id", "entity_id", "name")
    ):
        aliases[entity].append(name)
        newest_alias[entity] = alias
    known = {entity: KnownEntity(entity, name, kind, tuple(aliases[entity])) for entity, name, kind in rows}
    newest = {entity: max(entity, newest_alias.get(entity, entity)) for entity in known}
    new = {entity: id for entity, id in newest.items() if since is None or id >= since}
    return NewNames(EntityRegistry(known[entity] for entity in new), new)


def reresolve(work: Work, ids: Sequence[UUID]) -> Iterator[ReresolvedMemory]:
    """Resolve memories with today's registry."""
    active = Memory.objects.within(work.namespace).filter(id__in=ids, status=Status.ACTIVE)
    memories = list(active.prefetch_related("mentions").order_by("id"))
    new_memories = [
        NewMemory(content=memory.content, subject=memory.subject_surface, object=memory.object) for memory in memories
    ]
    resolver = EntityResolver.load(work.namespace, new_memories, work.now)
    for memory, resolved in zip(memories, resolver.resolve_all(new_memories), strict=True):
        gains_subject = memory.subject_fallback is not None and resolved.subject is not None
        yield ReresolvedMemory(memory, resolved, gains_subject)


def write_connections(work: Work, reresolved: Sequence[ReresolvedMemory], names: NewNames) -> dict[str, int]:
    """Write new subjects, mentions and relations; the caller holds the lock."""
    gaining = [item for item in reresolved if item.gains_subject]
    mentions = [row for item in reresolved for row in new_mentions(item, names)]
    relations = [row for item in reresolved for row in new_relations(work, item, names)]
    Mention.objects.bulk_create(mentions)
    # A relation added to the memory by hand stays the only one.
    EntityEdge.objects.bulk_create(relations, ignore_conflicts=True)
    # After the mentions: a merge copies those its target lacks.
    merged = assign_subjects(work, gaining)
    return {"resolved": len(gaining), "merged": merged, "mentions": len(mentions), "relations": len(relations)}


def assign_subjects(work: Work, gaining: Sequence[ReresolvedMemory]) -> int:
    """Set subjects, and merge memories that thereby become exact duplicates; returns the number merged."""
    for item in gaining:
        item.memory.subject_id, item.memory.subject_fallback = item.resolved.subject, None
        example = {"memory": str(item.memory.id), "subject": item.resolved.subject_name}
        record_example(work, "examples", example)
    bulk_update_columns([item.memory for item in gaining], ["subject_id", "subject_fallback"])
    hashes = {item.memory.id: item.hash for item in gaining}
    return merge_exact_duplicates(work, hashes, "says the same as another memory of its subject")


def merge_exact_duplicates(work: Work, hashes: dict[UUID, bytes], reason: str) -> int:
    """Give memories their new content hashes, and merge those that share one; returns the number merged."""
    groups, distinct = duplicate_groups(work, hashes), {}
    with lock_memories(work.namespace, *(memory for ids in groups for memory in ids), by=work.job.by) as locked:
        for target, merged in (pair for ids in groups for pair in merge_pairs([locked.known[id] for id in ids])):
            if are_distinct(target.memory, merged.memory):
                distinct[merged.memory.id] = disambiguated_hash(merged.memory)
                continue
            merge_memories(locked, target, merged, reason)
            example = {"memory": str(merged.memory.id), "into": str(target.memory.id)}
            record_example(work, "merged_examples", example)
    # Disambiguated hashes first: the hash of an active memory is unique.
    for changed in (distinct, {id: hash for id, hash in hashes.items() if id not in distinct}):
        rows = [Memory(namespace=work.namespace, id=id, content_hash=hash) for id, hash in changed.items()]
        bulk_update_columns(rows, ["content_hash"])
    return sum(len(ids) - 1 for ids in groups) - len(distinct)


def merge_pairs(duplicates: Sequence[EvidenceState]) -> Iterator[tuple[EvidenceState, EvidenceState]]:
    """Pairs of merge target and merged memory: the target is the first, or one that awaits its correction."""
    target = next((state for state in duplicates if awaits_correction(state.memory)), duplicates[0])
    return ((target, state) for state in duplicates if state is not target)


def duplicate_groups(work: Work, hashes: dict[UUID, bytes]) -> list[list[UUID]]:
    """The memories that will share a hash, including those that have it already, each group by id."""
    stored = Memory.objects.within(work.namespace).filter(status=Status.ACTIVE, content_hash__in=hashes.values())
    groups: dict[bytes, set[UUID]] = {}
    for id, hash in (*stored.values_list("id", "content_hash"), *hashes.items()):
        groups.setdefault(bytes(hash), set()).add(id)
    return [sorted(ids) for ids in groups.values() if len(ids) > 1]


def new_mentions(item: ReresolvedMemory, names: NewNames) -> Iterator[Mention]:
    """Mentions of entities that were unknown when the memory was stored."""
    memory, resolved = item.memory, item.resolved
    known = {mention.entity_id for mention in memory.mentions.all()}
    for entity, confidence in resolved.entities.items():
        if entity not in known and (entity == resolved.subject or names.later_than(memory, entity)):
            yield Mention(
                namespace_id=memory.namespace_id, memory_id=memory.id, entity_id=entity, confidence=confidence
            )


def new_relations(work: Work, item: ReresolvedMemory, names: NewNames) -> Iterator[EntityEdge]:
    """The relation stated by subject, predicate and object, if either entity was unknown before."""
    relation = item.resolved.relation(item.memory.predicate)
    if relation is None or not (item.gains_subject or names.later_than(item.memory, relation[1])):
        return
    edge = EntityEdge(namespace=work.namespace, memory_id=item.memory.id, predicate=item.memory.predicate)
    edge.source_id, edge.target_id, edge.confidence = relation
    edge.created_at = work.now
    yield edge
