"""Clusters and entities, once memories that made them are gone."""

from collections.abc import Collection
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from memories.models import Cluster, Entity, EntityEdge, Memory, Mention, Namespace
from memories.models.choices import Route, Status

# The label is made of the members' words; the next reflection finds a new one.
CLUSTERS = f"""
    UPDATE memories_cluster known SET size = rest.size, centroid = rest.middle, label = ''
    FROM (
        SELECT m.cluster_id, v.embedder, count(*) AS size, l2_normalize(avg(v.vector)) AS middle
        FROM memories_memory m
        JOIN memories_memoryvector v ON v.namespace_id = m.namespace_id AND v.memory_id = m.id
        WHERE m.namespace_id = %(namespace)s AND m.cluster_id = ANY(%(clusters)s)
            AND m.status = '{Status.ACTIVE}' AND v.route = '{Route.FULL}'
        GROUP BY m.cluster_id, v.embedder
    ) rest
    WHERE known.namespace_id = %(namespace)s AND known.id = rest.cluster_id AND known.embedder = rest.embedder
"""


def middle_again(namespace: Namespace, clusters: Collection[UUID]) -> None:
    """Let clusters be the middle of those they still hold; one without any goes."""
    if not clusters:
        return
    with connection.cursor() as cursor:
        cursor.execute(CLUSTERS, {"namespace": namespace.id, "clusters": list(clusters)})
    members = Memory.objects.within(namespace)
    held = set(
        members.filter(cluster_id__in=clusters, status=Status.ACTIVE).values_list("cluster_id", flat=True).distinct()
    )
    empty = [cluster for cluster in clusters if cluster not in held]
    members.filter(cluster_id__in=empty).update(cluster_id=None)
    Cluster.objects.within(namespace).filter(id__in=empty).delete()


def entities_of(namespace: Namespace, ids: Collection[UUID]) -> set[UUID]:
    """The entities that memories are about, mention or relate."""
    subjects = Memory.objects.within(namespace).filter(id__in=ids, subject_id__isnull=False)
    mentions = Mention.objects.within(namespace).filter(memory_id__in=ids)
    edges = EntityEdge.objects.within(namespace).filter(memory_id__in=ids).values_list("source_id", "target_id")
    return {
        *(id for id in subjects.values_list("subject_id", flat=True) if id),
        *mentions.values_list("entity_id", flat=True),
        *(end for edge in edges for end in edge),
    }


def erase_unnamed(namespace: Namespace, entities: Collection[UUID], *, registered: bool) -> list[UUID]:
    """Erase those of some entities that nothing names any more, with their other names; tell which.

    What somebody registered for its own sake goes only where that is asked for.
    """
    this = OuterRef("id")
    unnamed = Entity.objects.within(namespace).filter(
        ~Exists(Mention.objects.within(namespace).filter(entity_id=this)),
        ~Exists(Memory.objects.within(namespace).filter(subject_id=this)),
        ~Exists(EntityEdge.objects.within(namespace).filter(Q(source_id=this) | Q(target_id=this))),
        id__in=entities,
    )
    unnamed = unnamed if registered else unnamed.filter(registered=False)
    gone = list(unnamed.values_list("id", flat=True))
    Entity.objects.within(namespace).filter(id__in=gone).delete()
    return gone
