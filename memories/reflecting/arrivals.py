"""Entities and names that came after memories which may speak of them."""

from collections import defaultdict
from dataclasses import dataclass
from uuid import UUID

from memories.jobs.work import Work
from memories.models import Entity, EntityAlias, Memory
from memories.reflecting.fresh import since
from memories.text.entity_mentions import entities_in
from memories.text.entity_registry import EntityRegistry, KnownEntity


@dataclass(frozen=True)
class Arrivals:
    """What is new among the names of a namespace, and since when: ids sort by time."""

    registry: EntityRegistry
    latest: dict[UUID, UUID]  # the id of an entity, or of its newest alias

    def __bool__(self) -> bool:
        return bool(self.latest)

    @property
    def last(self) -> UUID:
        """The newest of all; a later memory knew everybody."""
        return max(self.latest.values())

    def may_be_in(self, memory: Memory) -> bool:
        """Whether a memory seems to speak of one of them; all other names are needed to be sure."""
        said = [memory.object] if memory.object else []
        said += [memory.subject_surface] if memory.subject_fallback else []
        return any(self.registry.candidates_for_all(said)) or bool(entities_in(memory.content, self.registry))

    def later_than(self, memory: Memory, entity: UUID) -> bool:
        """Whether a memory could not know an entity, or its newest name, when it was stored."""
        return entity in self.latest and self.latest[entity] > memory.id


def arrived(work: Work) -> Arrivals:
    """The entities that were made or got another name since the last reflection."""
    mark, latest = since(work), {}
    aliases: dict[UUID, list[str]] = defaultdict(list)
    rows = Entity.objects.within(work.namespace).order_by("id").values_list("id", "name", "kind")
    for alias, entity, name in (
        EntityAlias.objects.within(work.namespace).order_by("id").values_list("id", "entity_id", "name")
    ):
        aliases[entity].append(name)
        latest[entity] = alias
    everyone = {entity: KnownEntity(entity, name, kind, tuple(aliases[entity])) for entity, name, kind in rows}
    moments = {entity: max(entity, latest.get(entity, entity)) for entity in everyone}
    new = {entity: moment for entity, moment in moments.items() if mark is None or moment >= mark}
    return Arrivals(EntityRegistry(everyone[entity] for entity in new), new)
