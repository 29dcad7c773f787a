"""Finds the entity a person typed: by id, name or alias, else the most similar names."""

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q
from rapidfuzz import process
from rapidfuzz.fuzz import WRatio

from memories.db.pipeline import Statement, fetch_pipeline
from memories.models import Entity, EntityAlias, Namespace
from memories.pages.request_data import is_uuid
from memories.retrieval.candidate_rows import uuid_array_literal
from scoring.dedup import normalize

MAX_COMPARED = 20_000  # names that a misspelt one is compared with
MAX_SUGGESTIONS = 5
MIN_SIMILARITY = 60  # of 100
ENTITY_LABELS_SQL = """
    SELECT id::text, name, kind FROM memories_entity WHERE namespace_id = %(namespace)s AND id = ANY(%(ids)s::uuid[])
"""


class EntityLabel(NamedTuple):
    """An entity's name and kind."""

    id: str
    name: str
    kind: str


class EntityLookup(NamedTuple):
    """The entity that matches, and others of the same or a similar name."""

    entity: EntityLabel | None
    others: list[EntityLabel]


def match_entity(namespace: Namespace, text: str) -> EntityLookup:
    """The entity with an id, name or alias; of several with one name the oldest."""
    if is_uuid(text):
        id = str(UUID(text))
        return EntityLookup(entity_labels(namespace, [id]).get(id), [])
    name = normalize(text)
    aliased = EntityAlias.objects.within(namespace).filter(normalised=name).values("entity_id")
    entities = Entity.objects.within(namespace).filter(Q(normalised=name) | Q(id__in=aliased))
    matches = list(entities.order_by("created_at", "id")[: MAX_SUGGESTIONS + 1])
    matches.sort(key=lambda entity: entity.normalised != name)
    labels = [EntityLabel(str(entity.id), entity.name, entity.kind) for entity in matches]
    return EntityLookup(labels[0], labels[1:]) if labels else EntityLookup(None, similar_entities(namespace, name))


def similar_entities(namespace: Namespace, name: str) -> list[EntityLabel]:
    """The entities whose names are most similar to one that does not exist."""
    names: dict[tuple[str, str], str] = {}
    for model, id_column in ((Entity, "id"), (EntityAlias, "entity_id")):
        rows = model.objects.within(namespace).order_by("-id").values_list("normalised", id_column)[:MAX_COMPARED]
        names |= {(normalised, str(id)): normalised for normalised, id in rows}
    similar = process.extract(name, names, scorer=WRatio, limit=4 * MAX_SUGGESTIONS, score_cutoff=MIN_SIMILARITY)
    ids = list(dict.fromkeys(id for _, _, (_, id) in similar))[:MAX_SUGGESTIONS]
    labels = entity_labels(namespace, ids)
    return [labels[id] for id in ids if id in labels]


def entity_labels(namespace: Namespace, ids: Collection[str]) -> dict[str, EntityLabel]:
    """Names and kinds by id, in plain SQL: thousands of model instances would take too long."""
    parameters = {"namespace": namespace.id, "ids": uuid_array_literal(ids)}
    [rows] = fetch_pipeline([Statement(ENTITY_LABELS_SQL, parameters)])
    return {id: EntityLabel(id, name, kind) for id, name, kind in rows}
