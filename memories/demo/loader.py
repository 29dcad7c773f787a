"""Loads the demo world into a namespace: restored from the shipped export, or written from its sources."""

import logging
from datetime import datetime

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from memories.db.ids import replay_ids
from memories.demo import world_export
from memories.demo.assessments import store_annotations, store_judgements
from memories.demo.embed_ahead import embed_ahead
from memories.demo.usage_history import store_usage
from memories.demo.world_records import CLOCK, read_demo_world
from memories.demo.world_writer import WorldWriter
from memories.models import Membership, Namespace
from memories.models.choices import Role
from memories.transfer.planner_statistics import analyze_tables

logger = logging.getLogger(__name__)

USER = "demo"


def load_demo_world(slug: str) -> Namespace:
    """Restore the shipped export, or write the world from its sources if the embedder differs from the export's."""
    exported = world_export.read_export_namespace()
    if exported["embedder"] == settings.RECALL_EMBEDDER:
        return restore_demo_world(slug, datetime.fromisoformat(exported["created_at"]))
    logger.info(
        "The demo world is embedded anew: its export has vectors of %s, RECALL_EMBEDDER is %s",
        exported["embedder"],
        settings.RECALL_EMBEDDER,
    )
    return write_demo_world(slug)


@transaction.atomic
def restore_demo_world(slug: str, started_at: datetime) -> Namespace:
    """Restore the shipped export into a new namespace; its rows equal those of `write_demo_world`."""
    namespace = create_demo_namespace(slug, started_at)
    world_export.restore_export(namespace)
    analyze_tables()
    return namespace


@transaction.atomic
def write_demo_world(slug: str) -> Namespace:
    """Write the world from its sources through the write path; deterministic up to the embedder."""
    world = read_demo_world()
    writer = WorldWriter(create_demo_namespace(slug, world.started_at), world)
    with embed_ahead(writer.namespace.embedder, world):
        writer.write_sessions()
    with writer.clock_at(CLOCK, "today"):
        writer.finish_corrections()
        store_usage(writer)
        store_judgements(writer)
        store_annotations(writer)
    analyze_tables()
    return writer.namespace


def create_demo_namespace(slug: str, started_at: datetime) -> Namespace:
    """Create the namespace, with the demo user as admin if there is one."""
    with replay_ids(started_at, slug):
        namespace = Namespace(slug=slug, title="Maya's assistant")
    namespace.embedder = settings.RECALL_EMBEDDER
    namespace.clock, namespace.created_at = CLOCK, started_at
    namespace.save(force_insert=True)
    if user := get_user_model().objects.filter(username=USER).first():
        Membership.objects.create(user=user, namespace=namespace, role=Role.ADMIN)
    return namespace
