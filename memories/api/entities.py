"""The entities of a namespace: listed, searched and made."""

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Prefetch, Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Items, Text
from memories.api.idempotency import idempotent
from memories.api.names import Name
from memories.api.paging import PageQuery, page, paged
from memories.api.refusals import Conflict
from memories.api.serializers import Object
from memories.api.views import NamespacedView
from memories.models import Entity, EntityAlias, Namespace
from memories.models.choices import Role
from memories.models.graph import LONGEST_NAME
from memories.models.keys import NamespacedQuerySet
from memories.writing.redacting import cleaned
from memories.writing.remember import lock
from scoring.dedup import normalize


class NewEntity(Object):
    """An entity to be made."""

    name = Name()
    kind = Text(max_length=50, allow_blank=True, default="", help_text="such as person, team or database")
    aliases = Items(child=Name(), max_length=50, default=list, help_text="other names; one given twice counts once")


class EntityQuery(PageQuery):
    """Which entities."""

    q = Text(max_length=LONGEST_NAME, required=False, help_text="part of a name or of an alias, in any case")


class EntitySerializer(serializers.Serializer[Entity]):
    """Somebody or something that memories are about."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.CharField(allow_blank=True)
    aliases = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()

    def get_aliases(self, entity: Entity) -> list[str]:
        """Give the other names, which a list has fetched with it."""
        return [alias.name for alias in entity.aliases.all()]


class Entities(NamespacedView):
    """The entities of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="entities",
        parameters=[EntityQuery],
        responses=paged("EntityPage", EntitySerializer),
        tags=["entities"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List entities, newest first, with their other names."""
        query = EntityQuery.of(request)
        found = page(request, self.namespace, named_like(self.namespace, query.get("q", "")), query)
        return Response(found.answer(EntitySerializer))

    @extend_schema(operation_id="make_entity", request=NewEntity, responses={201: EntitySerializer}, tags=["entities"])
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Make an entity."""
        entity = make(self.namespace, **cleaned(self.namespace, NewEntity.of(request)))
        return Response(EntitySerializer(entity).data, status=201)


def named_like(namespace: Namespace, words: str) -> NamespacedQuerySet[Entity]:
    """Give the entities with the words in a name or an alias, and their aliases in one more question."""
    aliases = EntityAlias.objects.within(namespace)
    entities = Entity.objects.within(namespace).prefetch_related(Prefetch("aliases", aliases.order_by("normalised")))
    if not words:
        return entities
    here = Q(normalised__contains=normalize(words))
    return entities.filter(here | Exists(aliases.filter(here, entity_id=OuterRef("id"))))


def make(namespace: Namespace, *, name: str, kind: str, aliases: list[str]) -> Entity:
    """Store an entity and its other names."""
    entity = Entity(namespace=namespace, name=name, normalised=normalize(name), kind=kind)
    brought = Entity.objects.within(namespace).filter(normalised=entity.normalised, kind=kind, registered=False)
    others = {normalize(alias): alias for alias in reversed(aliases) if normalize(alias) != entity.normalised}
    try:
        with transaction.atomic():
            lock(namespace)  # a batch may be making the same one
            # A name that a memory brought is registered for its own sake from now on.
            if (known := brought.first()) is not None:
                entity.id, entity.created_at = known.id, known.created_at
            entity.save(force_insert=known is None, force_update=known is not None)
            EntityAlias.objects.bulk_create(
                EntityAlias(entity=entity, name=alias, normalised=normalised)
                for normalised, alias in sorted(others.items())
            )
    except IntegrityError as error:
        wrong = f"must be new among the entities of kind “{kind}”; got “{name}”"
        raise Conflict(f"The name {wrong}.", errors=[{"at": "name", "message": wrong}], code="entity_exists") from error
    return entity
