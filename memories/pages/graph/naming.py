"""Which entity a person means: by id, by a name or another one, or what comes near to what was typed."""

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q
from rapidfuzz import process
from rapidfuzz.fuzz import WRatio

from memories.db.pipeline import Statement, fetch_pipeline
from memories.models import Entity, EntityAlias, Namespace
from memories.retrieval.candidate_sql import uuid_array_literal
from scoring.dedup import normalize

COMPARED = 20_000  # names that a mistyped one is compared with
OFFERED = 5
ALIKE = 60  # of a hundred, from where two names are near
NAMED = """
    SELECT id::text, name, kind FROM memories_entity WHERE namespace_id = %(namespace)s AND id = ANY(%(ids)s::uuid[])
"""


class Called(NamedTuple):
    """An entity's name and kind."""

    id: str
    name: str
    kind: str


class Meant(NamedTuple):
    """The entity that was meant, or those it may have been."""

    entity: Called | None
    others: list[Called]


def meant(namespace: Namespace, text: str) -> Meant:
    """The entity of an id or a name; of several with one name the oldest, the others beside it."""
    entities = Entity.objects.within(namespace)
    if (id := identifier(text)) is not None:
        return Meant(named(namespace, [id]).get(id), [])
    name = normalize(text)
    aliased = EntityAlias.objects.within(namespace).filter(normalised=name).values("entity_id")
    found = list(entities.filter(Q(normalised=name) | Q(id__in=aliased)).order_by("created_at", "id")[: OFFERED + 1])
    found.sort(key=lambda one: one.normalised != name)
    called = [Called(str(one.id), one.name, one.kind) for one in found]
    return Meant(called[0], called[1:]) if called else Meant(None, near(namespace, name))


def identifier(text: str) -> str | None:
    """The id that a text is, if it is one."""
    try:
        return str(UUID(text))
    except ValueError:
        return None


def near(namespace: Namespace, name: str) -> list[Called]:
    """The entities whose names come nearest to one that nobody has."""
    names: dict[tuple[str, str], str] = {}
    for model, id in ((Entity, "id"), (EntityAlias, "entity_id")):
        rows = model.objects.within(namespace).order_by("-id").values_list("normalised", id)[:COMPARED]
        names |= {(spelt, str(of)): spelt for spelt, of in rows}
    alike = process.extract(name, names, scorer=WRatio, limit=4 * OFFERED, score_cutoff=ALIKE)
    ids = list(dict.fromkeys(of for _, _, (_, of) in alike))[:OFFERED]
    found = named(namespace, ids)
    return [found[id] for id in ids if id in found]


def named(namespace: Namespace, ids: Collection[str]) -> dict[str, Called]:
    """What entities are called; to quote each of thousands of ids, and to read whole rows, would take their time."""
    [rows] = fetch_pipeline([Statement(NAMED, {"namespace": namespace.id, "ids": uuid_array_literal(ids)})])
    return {id: Called(id, name, kind) for id, name, kind in rows}
