"""The persons whom candidates are about: their subjects, and the speakers of turns."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from memories.models import Namespace
from memories.models.choices import ChunkLevel
from memories.models.evidence import SPEAKER_SEPARATOR
from memories.retrieval.candidate_rows import MemoryRow
from memories.retrieval.parse import ParsedQuery
from memories.text.entity_registry import PERSON, EntityRegistry
from memories.text.name_index import entities_by_keys, exact_keys

SUBJECTS = f"""
    SELECT m.id, m.subject_id FROM memories_memory m
    JOIN memories_entity e ON e.namespace_id = m.namespace_id AND e.id = m.subject_id AND e.kind = '{PERSON}'
    WHERE m.namespace_id = %(namespace)s AND m.id = ANY(%(ids)s::uuid[])
"""


def subjects_statement(parsed: ParsedQuery) -> dict[str, str]:
    """The statement for persons as subjects, if the query names people and its tokens tell whether it is answered."""
    return {"subjects": SUBJECTS} if parsed.people and parsed.tokens is not None else {}


def people_of(
    namespace: Namespace, rows: Sequence[MemoryRow], subjects: Iterable[tuple[UUID, UUID]] | None
) -> dict[UUID, UUID]:
    """The person whom each candidate is about; of a turn without a subject, its speaker."""
    if subjects is None:
        return {}
    people = dict(subjects)
    turns = [row for row in rows if row["level"] == ChunkLevel.TURN and row["subject_id"] is None]
    speakers = {row["id"]: row["content"].partition(SPEAKER_SEPARATOR)[0] for row in turns}
    if speakers:
        registry = EntityRegistry(entities_by_keys(namespace, exact_keys((), set(speakers.values()))))
        for memory, speaker in speakers.items():
            match = registry.resolve(speaker, fuzzy=False)
            if match and registry.kinds[match.entity_id] == PERSON:
                people[memory] = match.entity_id
    return people
