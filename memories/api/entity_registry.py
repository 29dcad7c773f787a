"""The entities of a namespace: list, search and create."""

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Prefetch, Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.models import Entity, EntityAlias, Namespace
from memories.models.choices import Role
from memories.models.graph import MAX_NAME_CHARS
from memories.models.keys import NamespacedQuerySet
from memories.text.name_index import index_names
from memories.web.entity_name import EntityName
from memories.web.fields import ListOf, Text
from memories.web.http_errors import Conflict
from memories.web.pagination import PageQuery, page_schema, paginate
from memories.web.serializers import StrictObject
from memories.writing.lock import lock_namespace
from memories.writing.prepare import redact_if_enabled
from scoring.dedup import normalize


class NewEntity(StrictObject):
    """A new entity."""

    name = EntityName()
    kind = Text(max_length=50, allow_blank=True, default="", help_text="such as person, team or database")
    aliases = ListOf(child=EntityName(), max_length=50, default=list, help_text="other names; duplicates are ignored")


class EntityQuery(PageQuery):
    """Filters of the entity list."""

    q = Text(max_length=MAX_NAME_CHARS, required=False, help_text="substring of a name or an alias, case-insensitive")


class EntitySerializer(serializers.Serializer[Entity]):
    """A person or thing that memories are about."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.CharField(allow_blank=True)
    aliases = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()

    def get_aliases(self, entity: Entity) -> list[str]:
        """The other names, prefetched for lists."""
        return [alias.name for alias in entity.aliases.all()]


class EntitiesView(NamespacedView):
    """The entities of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="entities",
        parameters=[EntityQuery],
        responses=page_schema("EntityPage", EntitySerializer),
        tags=["entities"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List entities with their aliases, newest first."""
        query = EntityQuery.from_request(request)
        page = paginate(request, self.namespace, search_entities(self.namespace, query.get("q", "")), query)
        return Response(page.to_dict(EntitySerializer))

    @extend_schema(
        operation_id="create_entity", request=NewEntity, responses={201: EntitySerializer}, tags=["entities"]
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Create an entity."""
        entity = create_entity(self.namespace, **redact_if_enabled(self.namespace, NewEntity.from_request(request)))
        return Response(EntitySerializer(entity).data, status=201)


def search_entities(namespace: Namespace, text: str) -> NamespacedQuerySet[Entity]:
    """The entities with a substring in their name or an alias; their aliases are prefetched in one query."""
    aliases = EntityAlias.objects.within(namespace)
    entities = Entity.objects.within(namespace).prefetch_related(Prefetch("aliases", aliases.order_by("normalised")))
    if not text:
        return entities
    contains = Q(normalised__contains=normalize(text))
    return entities.filter(contains | Exists(aliases.filter(contains, entity_id=OuterRef("id"))))


def create_entity(namespace: Namespace, *, name: str, kind: str, aliases: list[str]) -> Entity:
    """Store an entity and its aliases."""
    entity = Entity(namespace=namespace, name=name, normalised=normalize(name), kind=kind)
    unregistered = Entity.objects.within(namespace).filter(normalised=entity.normalised, kind=kind, registered=False)
    by_normalised = {normalize(alias): alias for alias in reversed(aliases) if normalize(alias) != entity.normalised}
    try:
        with transaction.atomic():
            lock_namespace(namespace)  # a write batch may be creating the same entity
            # An entity that a memory introduced becomes a registered one.
            if (existing := unregistered.first()) is not None:
                entity.id, entity.created_at = existing.id, existing.created_at
            entity.save(force_insert=existing is None, force_update=existing is not None)
            EntityAlias.objects.bulk_create(
                EntityAlias(entity=entity, name=alias, normalised=normalised)
                for normalised, alias in sorted(by_normalised.items())
            )
            index_names(namespace, [entity.id])
    except IntegrityError as error:
        message = f"must be unique among the entities of kind “{kind}”; got “{name}”"
        errors = [{"at": "name", "message": message}]
        raise Conflict(f"The name {message}.", errors=errors, code="entity_exists") from error
    return entity
