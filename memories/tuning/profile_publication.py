"""Publishing a profile version through the gate, and rolling back."""

from typing import Any
from uuid import UUID

from django.db import transaction

from memories.contracts.number_format import format_p_value, format_signed
from memories.models import Namespace, ProfileVersion, Publication
from memories.models.choices import JobState
from memories.tuning import gate
from memories.tuning.measurement import ERROR_NAMES, METRIC_NAMES
from memories.tuning.profile_versions import version_label
from memories.tuning.versions import ANY_PUBLICATION, lock_serving, save_publication
from memories.writing.write_errors import RefusedError
from scoring.systems import SYSTEMS


@transaction.atomic
def publish_profile(
    namespace: Namespace,
    version: ProfileVersion,
    *,
    by: str,
    note: str = "",
    override: str = "",
    expected: object = ANY_PUBLICATION,
) -> Publication:
    """Make a version serve, in every process at once; the write policy is unchanged.

    Refused without a gate check against the serving version, on a significant loss (unless overridden with a reason)
    and if something was published after `expected`.
    """
    serving = lock_serving(namespace, expected)
    if serving and serving.profile_version_id == version.id:
        raise RefusedError(f"{version_label(version)} is already serving.", "serves_already")
    if version.system not in SYSTEMS:
        raise RefusedError(
            f"{version_label(version)} uses the system {version.system}, which no longer exists.", "system_gone"
        )
    refusal = publication_refusal(namespace, version)
    if refusal and not override:
        raise refusal
    # Stored together with the refusal it overrides.
    overridden = f"Overridden: {override} ({refusal})" if refusal else ""
    full_note = " ".join(filter(None, [note, overridden]))
    return save_publication(namespace, serving, note=full_note, by=by, profile_version_id=version.id)


def publication_refusal(namespace: Namespace, version: ProfileVersion) -> RefusedError | None:
    """Why the gate refuses a version, or None."""
    job = gate.latest_gate_job(namespace, version.id)
    against = gate.serving_version_id(namespace)
    if job is None or job.state != JobState.DONE or job.params["against"] != (str(against) if against else None):
        return RefusedError(f"{version_label(version)} was not checked against the serving version.", "unchecked")
    if reason := gate.outdated_reason(job):
        return RefusedError(f"{version_label(version)} was checked, but {reason}; check it again.", "unchecked")
    if losses := gate.gate_losses(job):
        return RefusedError(f"{version_label(version)} loses: {'; '.join(map(describe_loss, losses))}.", "loss")
    return None


def describe_loss(loss: dict[str, Any]) -> str:
    """One loss as a sentence."""
    where = "held-out queries" if loss["split"] else "judged queries"
    metric = METRIC_NAMES.get(loss["metric"]) or ERROR_NAMES[loss["metric"]].lower()
    change = f"{metric} {format_signed(loss['difference'], 3)}"
    return f"{change} on {loss['queries']} {where} (p {format_p_value(loss['corrected'])})"


def previous_version(namespace: Namespace) -> tuple[bool, UUID | None]:
    """Whether another version served before the current one, and its id; None is the built-in default.

    A rollback undoes a publication, so a second rollback goes one further back.
    """
    served: list[UUID | None] = [None]
    history = Publication.objects.within(namespace).order_by("published_at", "id")
    for version, rolled_back in history.values_list("profile_version_id", "rolled_back"):
        if rolled_back:
            del served[-1]
        elif version != served[-1]:  # only a write policy was published
            served.append(version)
    return len(served) > 1, served[-2] if len(served) > 1 else None


@transaction.atomic
def roll_back_version(
    namespace: Namespace, *, by: str, note: str = "", expected: object = ANY_PUBLICATION
) -> Publication:
    """Serve the previous version again; the write policy is unchanged."""
    serving = lock_serving(namespace, expected)
    any_before, version = previous_version(namespace)
    if not any_before:
        raise RefusedError(
            "No profile was published in this namespace; there is nothing to roll back to.", "nothing_before"
        )
    full_note = f"Rolled back. {note}".strip()
    return save_publication(namespace, serving, note=full_note, by=by, rolled_back=True, profile_version_id=version)
