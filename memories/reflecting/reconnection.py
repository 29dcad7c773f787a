"""Memories meet the entities that came after them: subjects are resolved, mentions and relations added."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from memories.contracts.new_memory import NewMemory
from memories.jobs.work import Work
from memories.models import EntityEdge, Memory, Mention
from memories.models.choices import ChunkLevel, Status
from memories.reflecting.arrivals import Arrivals, arrived
from memories.reflecting.pieces import left, parts, tell
from memories.text.entity_mentions import entities_in
from memories.writing.bulk_copy import bulk_update_columns
from memories.writing.comparison import are_distinct, disambiguated_hash
from memories.writing.evidence import EvidenceState
from memories.writing.lock import lock_memories, lock_namespace
from memories.writing.merge import merge_memories
from memories.writing.resolve import EntityResolver, ResolvedEntities
from memories.writing.supersede import awaits_correction
from scoring.dedup import content_hash

BLOCK = 500  # memories in one piece


@dataclass(frozen=True)
class Met:
    """A memory, and the entities it turns out to speak of."""

    memory: Memory
    whom: ResolvedEntities
    resolved: bool  # its subject had only a stand-in

    @property
    def hash(self) -> bytes:
        """The hash under which it is known with its subject's own name."""
        memory = self.memory
        return content_hash(memory.type, self.whom.subject_name, memory.predicate, memory.content)


def reconnection(work: Work) -> None:
    """Look through the memories that are older than the newest entity or name."""
    arrivals = arrived(work)
    work.record_progress(0, None, looked_at=0, resolved=0, merged=0, mentions=0, relations=0)
    if not arrivals:
        return
    facts = Memory.objects.within(work.namespace).filter(status=Status.ACTIVE, level=ChunkLevel.FACT)
    ids = list(facts.filter(id__lt=arrivals.last).order_by("id").values_list("id", flat=True))
    waiting = left(work, ids)
    done = len(ids) - len(waiting)
    for block in parts(waiting, BLOCK):
        maybe = [one.id for one in facts.filter(id__in=block) if arrivals.may_be_in(one)]
        with transaction.atomic():
            lock_namespace(work.namespace)
            counted = connect(work, list(meetings(work, arrivals, maybe)), arrivals)
            done += len(block)
            work.step_result["through"] = str(block[-1])
            work.record_progress(done, len(ids), looked_at=len(block), **counted)


def meetings(work: Work, arrivals: Arrivals, ids: Sequence[UUID]) -> Iterator[Met]:
    """Read memories again with all names that are known now."""
    names = EntityResolver.load(work.namespace, work.now)
    active = Memory.objects.within(work.namespace).filter(id__in=ids, status=Status.ACTIVE)
    for memory in active.prefetch_related("mentions").order_by("id"):
        said = NewMemory(content=memory.content, subject=memory.subject_surface, object=memory.object)
        whom = names.resolve_memory(said, entities_in(memory.content, names.registry))
        yield Met(memory, whom, memory.subject_fallback is not None and whom.subject is not None)


def connect(work: Work, met: Sequence[Met], arrivals: Arrivals) -> dict[str, int]:
    """Write what memories turned out to speak of; the caller holds the lock."""
    found = [one for one in met if one.resolved]
    mentions = [row for one in met for row in mentions_of(one, arrivals)]
    relations = [row for one in met for row in relation_of(work, one, arrivals)]
    Mention.objects.bulk_create(mentions)
    # A relation that somebody drew from the memory by hand stays the only one.
    EntityEdge.objects.bulk_create(relations, ignore_conflicts=True)
    # A merge tells by what a memory names itself what it gets of another.
    merged = give_subjects(work, found)
    return {"resolved": len(found), "merged": merged, "mentions": len(mentions), "relations": len(relations)}


def give_subjects(work: Work, found: Sequence[Met]) -> int:
    """Give memories their subject; those that are thereby the same as another become one, the earlier one stays."""
    for one in found:
        one.memory.subject_id, one.memory.subject_fallback = one.whom.subject, None
        tell(work, "examples", {"memory": str(one.memory.id), "subject": one.whom.subject_name})
    bulk_update_columns([one.memory for one in found], ["subject_id", "subject_fallback"])
    hashes = {one.memory.id: one.hash for one in found}
    groups, aside = alike(work, hashes), {}
    with lock_memories(work.namespace, *(memory for ids in groups for memory in ids), by=work.job.by) as hold:
        for kept, gone in (pair for ids in groups for pair in pairs([hold.known[id] for id in ids])):
            if are_distinct(kept.memory, gone.memory):
                aside[gone.memory.id] = disambiguated_hash(gone.memory)
                continue
            merge_memories(hold, kept, gone, "says the same as another memory of its subject")
            tell(work, "merged_examples", {"memory": str(gone.memory.id), "into": str(kept.memory.id)})
    # First those that step aside: the words of an active memory are its own.
    for known in (aside, {id: hash for id, hash in hashes.items() if id not in aside}):
        rows = [Memory(namespace=work.namespace, id=id, content_hash=hash) for id, hash in known.items()]
        bulk_update_columns(rows, ["content_hash"])
    return sum(len(ids) - 1 for ids in groups) - len(aside)


def pairs(same: Sequence[EvidenceState]) -> Iterator[tuple[EvidenceState, EvidenceState]]:
    """Whom the others go into: the first, unless one of them awaits its correction, with which all of them end."""
    kept = next((one for one in same if awaits_correction(one.memory)), same[0])
    return ((kept, one) for one in same if one is not kept)


def alike(work: Work, hashes: dict[UUID, bytes]) -> list[list[UUID]]:
    """The memories that are to share a hash, those that have it already among them, the first first."""
    stored = Memory.objects.within(work.namespace).filter(status=Status.ACTIVE, content_hash__in=hashes.values())
    found: dict[bytes, set[UUID]] = {}
    for id, hash in (*stored.values_list("id", "content_hash"), *hashes.items()):
        found.setdefault(bytes(hash), set()).add(id)
    return [sorted(ids) for ids in found.values() if len(ids) > 1]


def mentions_of(one: Met, arrivals: Arrivals) -> Iterator[Mention]:
    """The entities it names and could not know when it was stored."""
    known = {mention.entity_id for mention in one.memory.mentions.all()}
    for entity, sure in one.whom.entities.items():
        if entity not in known and (entity == one.whom.subject or arrivals.later_than(one.memory, entity)):
            yield Mention(
                namespace_id=one.memory.namespace_id, memory_id=one.memory.id, entity_id=entity, confidence=sure
            )


def relation_of(work: Work, one: Met, arrivals: Arrivals) -> Iterator[EntityEdge]:
    """The relation that its subject, predicate and object tell, where one of the two was not known before."""
    related = one.whom.relation(one.memory.predicate)
    if related is None or not (one.resolved or arrivals.later_than(one.memory, related[1])):
        return
    edge = EntityEdge(namespace=work.namespace, memory_id=one.memory.id, predicate=one.memory.predicate)
    edge.source_id, edge.target_id, edge.confidence = related
    edge.created_at = work.now
    yield edge
