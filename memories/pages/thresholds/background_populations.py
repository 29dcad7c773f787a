"""What the thresholds of background work decide on: subjects to summarise, entities that drift, the vector index."""

import hashlib
from collections.abc import Hashable
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count

from memories.maintenance.drift import EntityChange, comparable_entities, entity_changes
from memories.maintenance.index_recall import latest_index_recall, uses_index
from memories.maintenance.summaries import ABOUT, SummaryScope, find_groups
from memories.models import Memory, Namespace
from memories.models.choices import ChunkLevel, Status
from memories.models.vector import SCAN_BELOW
from memories.pages.thresholds.populations import (
    Counted,
    DecisionLabels,
    NothingToCount,
    Population,
    Values,
    cached_population,
    label_if,
)
from scoring.policy import WritePolicyParams

MAX_GROUPED = 3_000  # facts of the subjects that are grouped
MAX_ENTITIES = 300
SUMMARY_LABELS = DecisionLabels(("summaries",), lambda groups: ["summaries"] * len(groups))


class SubjectSample(NamedTuple):
    """Subjects with enough facts for a summary, and how many there are."""

    scopes: list[SummaryScope]
    total: int


@cached_population
def summarised_subjects(namespace: Namespace, serving: WritePolicyParams) -> Counted:
    """Subjects by the groups of their facts that a reflection would summarise."""
    members = serving.consolidation_members
    sample = sample_subjects(namespace, members)
    if not sample.scopes:
        return NothingToCount(f"No subject here has {members} facts.", "Write some over the API", "docs")

    def decide(values: Values) -> list[frozenset[frozenset[UUID]]]:
        groups: dict[SummaryScope, set[frozenset[UUID]]] = {scope: set() for scope in sample.scopes}
        for group in find_groups(namespace, sample.scopes, WritePolicyParams.of(values))[0]:
            groups[group.scope].add(group.ids)
        return [frozenset(groups[scope]) for scope in sample.scopes]

    return Population(
        "subject",
        "subjects",
        len(sample.scopes),
        sample.total,
        decide,
        SUMMARY_LABELS,
    )


def sample_subjects(namespace: Namespace, members: int) -> SubjectSample:
    """Subjects in an order by hash, until their facts are as many as can be grouped at once."""
    facts = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level=ChunkLevel.FACT)
    about = facts.annotate(about=ABOUT).filter(about__isnull=False).values("about", "user")
    sizes = about.annotate(facts=Count("id")).filter(facts__gte=members)
    rows = [(SummaryScope(row["about"], row["user"]), row["facts"]) for row in sizes]
    scopes, grouped = list[SummaryScope](), 0
    for scope, size in sorted(rows, key=lambda row: hash_text(row[0])):
        if scopes and grouped + size > MAX_GROUPED:
            break
        scopes.append(scope)
        grouped += size
    return SubjectSample(scopes, len(rows))


def hash_text(value: Hashable) -> str:
    """A pseudo-random, stable sort key."""
    return hashlib.sha256(str(value).encode()).hexdigest()


class EntitySample(NamedTuple):
    """Entities with facts before the drift window and within it, and how many there are."""

    changes: list[EntityChange]
    total: int


@cached_population
def drifting_entities(namespace: Namespace, serving: WritePolicyParams) -> Counted:
    """Entities by whether they have drifted."""
    sample = sample_entities(namespace, serving)
    if not sample.changes:
        return NothingToCount(
            f"No entity here has {serving.drift_members} facts of the last {serving.drift_window} days and as many "
            "from before.",
            "Facts of both periods make it countable; Memories lists them",
            "memories",
        )

    def decide(values: Values) -> list[bool]:
        policy = WritePolicyParams.of(values)
        return [change.has_drifted(policy) for change in sample.changes]

    return Population(
        *("entity", "entities", len(sample.changes), sample.total, decide),
        label_if("flagged"),
        "with facts old and new",
    )


def sample_entities(namespace: Namespace, policy: WritePolicyParams) -> EntitySample:
    """Load a sample of them by hash."""
    entities = sorted(comparable_entities(namespace, policy, namespace.now), key=hash_text)
    changes = entity_changes(namespace, entities[:MAX_ENTITIES], policy, namespace.now)
    return EntitySample(changes, len(changes) if len(entities) <= MAX_ENTITIES else len(entities))


def index_measurement(namespace: Namespace, serving: WritePolicyParams) -> Counted:
    """The last measurement of the vector index, by whether it raises the alert."""
    latest = latest_index_recall(namespace)
    if latest is None:
        reason = (
            "The vector index was not measured yet."
            if uses_index(namespace)
            else f"Every vector is compared: the index begins at {SCAN_BELOW:,} memories."
        )
        return NothingToCount(reason, "Measure it on Health", "health")

    def decide(values: Values) -> list[bool]:
        return [replace(latest, threshold=WritePolicyParams.of(values).index_recall).alert]

    return Population(
        *("measurement", "measurements", 1, 1, decide),
        label_if("alerts"),
        f"of {latest.at:%-d %b}: recall@10 {latest.recall:.3f} over {len(latest.recalls)} queries",
    )
