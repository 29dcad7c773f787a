"""Turns, sessions, clusters, entities and judged queries once the memories behind them are erased."""

from collections import Counter
from collections.abc import Collection, Sequence
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from memories.maintenance.survivors import recompute_evidence
from memories.models import (
    Cluster,
    Entity,
    EntityEdge,
    JudgedQuery,
    Judgement,
    Memory,
    MemorySource,
    MemoryVector,
    Mention,
    Namespace,
    Session,
    Turn,
)
from memories.models.choices import QueryKind, Route, Status

CONTEXT_ROUTES = (Route.CONTEXT, Route.NEXT_USER)  # vectors that include neighbouring turns
# The label quotes the members' words; the next reflection finds a new one.
RECENTRE_SQL = f"""
    UPDATE memories_cluster known SET size = rest.size, centroid = rest.centroid, label = ''
    FROM (
        SELECT m.cluster_id, v.embedder, count(*) AS size, l2_normalize(avg(v.vector)) AS centroid
        FROM memories_memory m
        JOIN memories_memoryvector v ON v.namespace_id = m.namespace_id AND v.memory_id = m.id
        WHERE m.namespace_id = %(namespace)s AND m.cluster_id = ANY(%(clusters)s)
            AND m.status = '{Status.ACTIVE}' AND v.route = '{Route.FULL}'
        GROUP BY m.cluster_id, v.embedder
    ) rest
    WHERE known.namespace_id = %(namespace)s AND known.id = rest.cluster_id AND known.embedder = rest.embedder
"""


def erase_turns(namespace: Namespace, turns: Sequence[UUID]) -> Counter[str]:
    """Erase turns without memories, and the vectors that include them."""
    rows = Turn.objects.within(namespace).filter(id__in=turns)
    sessions = list(rows.values_list("session_id", flat=True))
    around = MemoryVector.objects.within(namespace).filter(memory__session_id__in=sessions, route__in=CONTEXT_ROUTES)
    vectors = MemoryVector.objects.within(namespace).filter(id__in=list(around.values_list("id", flat=True)))
    erased = Counter({"memory vectors": vectors.delete()[0]})
    return erased + erase_sources(namespace, Q(turn_id__in=turns)) + Counter({"turns": rows.delete()[0]})


def erase_sessions(namespace: Namespace, sessions: Sequence[UUID]) -> Counter[str]:
    """Erase sessions without memories, with all their turns."""
    turns = Turn.objects.within(namespace).filter(session_id__in=sessions)
    turn_ids = list(turns.values_list("id", flat=True))
    erased = erase_sources(namespace, Q(session_id__in=sessions) | Q(turn_id__in=turn_ids))
    rows = Session.objects.within(namespace).filter(id__in=sessions)
    return erased + Counter({"turns": turns.delete()[0]}) + Counter({"sessions": rows.delete()[0]})


def erase_sources(namespace: Namespace, where: Q) -> Counter[str]:
    """Erase sources, and recompute the memories that rested on them."""
    sources = MemorySource.objects.within(namespace).filter(where)
    memories = set(sources.values_list("memory_id", flat=True))
    erased = Counter({"memory sources": sources.delete()[0]})
    return erased + Counter({"memories recomputed": recompute_evidence(namespace, memories)})


def recentre_clusters(namespace: Namespace, clusters: Collection[UUID]) -> None:
    """Recompute clusters from the members they still have; delete empty ones."""
    if not clusters:
        return
    with connection.cursor() as cursor:
        cursor.execute(RECENTRE_SQL, {"namespace": namespace.id, "clusters": list(clusters)})
    memories = Memory.objects.within(namespace)
    active = memories.filter(cluster_id__in=clusters, status=Status.ACTIVE)
    filled = set(active.values_list("cluster_id", flat=True).distinct())
    empty = [cluster for cluster in clusters if cluster not in filled]
    memories.filter(cluster_id__in=empty).update(cluster_id=None)
    Cluster.objects.within(namespace).filter(id__in=empty).delete()


def referenced_entities(namespace: Namespace, ids: Collection[UUID]) -> set[UUID]:
    """The entities that memories are about, mention or relate."""
    subjects = Memory.objects.within(namespace).filter(id__in=ids, subject_id__isnull=False)
    mentions = Mention.objects.within(namespace).filter(memory_id__in=ids)
    edges = EntityEdge.objects.within(namespace).filter(memory_id__in=ids).values_list("source_id", "target_id")
    return {
        *(id for id in subjects.values_list("subject_id", flat=True) if id),
        *mentions.values_list("entity_id", flat=True),
        *(entity for edge in edges for entity in edge),
    }


def erase_unreferenced_entities(namespace: Namespace, entities: Collection[UUID], *, registered: bool) -> list[UUID]:
    """Erase entities that nothing refers to, with their aliases; explicitly registered ones only if `registered`."""
    entity = OuterRef("id")
    unreferenced = Entity.objects.within(namespace).filter(
        ~Exists(Mention.objects.within(namespace).filter(entity_id=entity)),
        ~Exists(Memory.objects.within(namespace).filter(subject_id=entity)),
        ~Exists(EntityEdge.objects.within(namespace).filter(Q(source_id=entity) | Q(target_id=entity))),
        id__in=entities,
    )
    unreferenced = unreferenced if registered else unreferenced.filter(registered=False)
    erased = list(unreferenced.values_list("id", flat=True))
    Entity.objects.within(namespace).filter(id__in=erased).delete()
    return erased


def answered_queries(namespace: Namespace, ids: Sequence[UUID]) -> list[UUID]:
    """The judged queries for which some memories have a positive grade."""
    answers = Judgement.objects.within(namespace).filter(memory_id__in=ids, grade__gt=0)
    return list(answers.values_list("query_id", flat=True).distinct())


def erase_unanswered_queries(namespace: Namespace, queries: Sequence[UUID]) -> int:
    """Erase answerable queries without a positive grade left: they measure nothing any more."""
    answers = Judgement.objects.within(namespace).filter(query_id=OuterRef("id"), grade__gt=0)
    queries_left = JudgedQuery.objects.within(namespace).filter(~Exists(answers), id__in=queries)
    ids = list(queries_left.filter(kind=QueryKind.ANSWERABLE).values_list("id", flat=True))
    return JudgedQuery.objects.within(namespace).filter(id__in=ids).delete()[0]
