"""The demo world, from what was written to what is stored."""

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from memories.bulk.statistics import analyse
from memories.demo import annotators, assessments, usage_history
from memories.demo.embed_ahead import embedded_ahead
from memories.demo.world_records import CLOCK, World, read
from memories.demo.world_writer import Telling
from memories.ids import replayed
from memories.models import Membership, Namespace
from memories.models.choices import Mode, Role

USER = "demo"


@transaction.atomic
def load(slug: str) -> Namespace:
    """Tell the demo world into a namespace of its own; two loads give equal rows."""
    world = read()
    telling = Telling(found(slug, world), world)
    with embedded_ahead(telling.namespace.embedder, world):
        telling.everything()
    with telling.at(CLOCK, "today"):
        telling.conclude()
        usage_history.add(telling)
        assessments.add(telling)
        annotators.add(telling)
    analyse()
    return telling.namespace


def found(slug: str, world: World) -> Namespace:
    """Make the namespace, and let the demo's user in where there is one."""
    with replayed(world.began, slug):
        namespace = Namespace(slug=slug, title="Maya's assistant", mode=Mode.AGENT_MEMORY)
    namespace.embedder = settings.RECALL_EMBEDDER
    namespace.clock, namespace.created_at = CLOCK, world.began
    namespace.save(force_insert=True)
    if user := get_user_model().objects.filter(username=USER).first():
        Membership.objects.create(user=user, namespace=namespace, role=Role.ADMIN)
    return namespace
