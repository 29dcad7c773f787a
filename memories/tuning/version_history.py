"""The versions of a namespace's profiles with their states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from memories.models import Evaluation, Namespace, ProfileVersion, Publication
from memories.tuning import evaluation_records
from memories.tuning.config_diff import version_differences
from memories.tuning.measurement import MAIN_METRIC
from memories.tuning.profile_versions import version_label
from scoring.params import ParamsError

MAX_VERSIONS = 100  # newest of all profiles


@dataclass(frozen=True)
class VersionEntry:
    """A version: its parent, its changes, its evaluation, and whether it was published."""

    namespace: Namespace
    version: ProfileVersion
    parent: ProfileVersion | None
    evaluation: Evaluation | None
    published: bool  # now or at any time
    serving: bool

    @property
    def state(self) -> str:
        """draft, evaluated or published."""
        if self.published:
            return "published"
        return "evaluated" if self.evaluation else "draft"

    @property
    def name(self) -> str:
        """Its profile's name and its number."""
        return version_label(self.version)

    @property
    def parent_name(self) -> str:
        """The version it was derived from, or the defaults."""
        return version_label(self.parent) if self.parent else "defaults"

    @property
    def main_metric(self) -> Mapping[str, float] | None:
        """Mean and bounds of the main metric in its last evaluation."""
        return self.evaluation.metrics.get(MAIN_METRIC) if self.evaluation else None

    @property
    def changes(self) -> list[str]:
        """The differences to its parent or to the built-in default, as text."""
        try:
            return version_differences(self.namespace, self.parent, self.version)
        except ParamsError as error:
            return [str(error)]


def list_versions(namespace: Namespace) -> list[VersionEntry]:
    """The newest versions of all profiles, newest first."""
    versions = ProfileVersion.objects.within(namespace).select_related("profile").order_by("-created_at", "-id")
    return build_version_entries(namespace, list(versions[:MAX_VERSIONS]))


def version_entry(namespace: Namespace, id: UUID) -> VersionEntry | None:
    """One version by its id."""
    version = find_version(namespace, id)
    return build_version_entries(namespace, [version])[0] if version else None


def find_version(namespace: Namespace, id: UUID) -> ProfileVersion | None:
    """A version by its id, with its profile."""
    return ProfileVersion.objects.within(namespace).select_related("profile").filter(id=id).first()


def build_version_entries(namespace: Namespace, versions: Sequence[ProfileVersion]) -> list[VersionEntry]:
    """Versions with their parents, evaluations and publications."""
    ids = [version.id for version in versions]
    parent_ids = {version.parent_id for version in versions if version.parent_id}
    parents = ProfileVersion.objects.within(namespace).select_related("profile").filter(id__in=parent_ids)
    by_id = {parent.id: parent for parent in parents}
    evaluations = evaluation_records.latest_evaluations(namespace, ids)
    publications = Publication.objects.within(namespace).filter(profile_version_id__in=ids)
    published = set(publications.values_list("profile_version_id", flat=True))
    serving = namespace.serving
    serving_id = serving.profile_version_id if serving else None
    return [
        VersionEntry(
            namespace,
            version,
            by_id.get(version.parent_id) if version.parent_id else None,
            evaluations.get(version.id),
            version.id in published,
            version.id == serving_id,
        )
        for version in versions
    ]
