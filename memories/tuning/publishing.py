"""Which version of a profile serves: published through the gate, rolled back in one act."""

from typing import Any
from uuid import UUID

from django.db import transaction

from memories.models import Namespace, ProfileVersion, Publication
from memories.models.choices import JobState
from memories.templatetags.numbers import chance, signed
from memories.tuning import gate
from memories.tuning.evaluating import ERRORS, NAMES
from memories.tuning.profiles import called
from memories.tuning.versions import ANY, alone, serve
from memories.writing.refusal import RefusedError
from scoring.systems import SYSTEMS


@transaction.atomic
def publish(
    namespace: Namespace,
    version: ProfileVersion,
    *,
    by: str,
    note: str = "",
    override: str = "",
    expected: object = ANY,
) -> Publication:
    """Let a version rank from now on, in every process at once; the write policy that serves stays.

    Refused without a check against what serves, and where that found a loss, unless a reason overrides it; and where
    something else was published than the caller saw.
    """
    serving = alone(namespace, expected)
    if serving and serving.profile_version_id == version.id:
        raise RefusedError(f"{called(version)} serves already.", "serves_already")
    if version.system not in SYSTEMS:
        raise RefusedError(f"{called(version)} ranks by {version.system}, which is gone.", "system_gone")
    refusal = objection(namespace, version)
    if refusal and not override:
        raise refusal
    # A reason is kept with what it overrode.
    overridden = f"Overridden: {override} ({refusal})" if refusal else ""
    said = " ".join(filter(None, [note, overridden]))
    return serve(namespace, serving, note=said, by=by, profile_version_id=version.id)


def objection(namespace: Namespace, version: ProfileVersion) -> RefusedError | None:
    """What the gate has against a version."""
    job = gate.last(namespace, version.id)
    against = gate.serving_version(namespace)
    if job is None or job.state != JobState.DONE or job.params["against"] != (str(against) if against else None):
        return RefusedError(f"{called(version)} was not checked against what serves now.", "unchecked")
    if why := gate.old(job):
        return RefusedError(f"{called(version)} was checked, but {why}; check it again.", "unchecked")
    if lost := gate.losses(job):
        return RefusedError(f"{called(version)} loses: {'; '.join(map(in_words, lost))}.", "loss")
    return None


def in_words(lost: dict[str, Any]) -> str:
    """One loss, as a person says it."""
    where = "held-out queries" if lost["part"] else "judged queries"
    moved = f"{NAMES.get(lost['metric']) or ERRORS[lost['metric']].lower()} {signed(lost['difference'], 3)}"
    return f"{moved} on {lost['queries']} {where} (p {chance(lost['corrected'])})"


def before(namespace: Namespace) -> tuple[bool, UUID | None]:
    """Whether another version served before the one that does, and which; none is what ships.

    A roll-back takes a publication back, so that a second one goes to what was there before both.
    """
    standing: list[UUID | None] = [None]
    history = Publication.objects.within(namespace).order_by("published_at", "id")
    for version, rolled_back in history.values_list("profile_version_id", "rolled_back"):
        if rolled_back:
            del standing[-1]
        elif version != standing[-1]:  # a write policy was published alone
            standing.append(version)
    return len(standing) > 1, standing[-2] if len(standing) > 1 else None


@transaction.atomic
def roll_back(namespace: Namespace, *, by: str, note: str = "", expected: object = ANY) -> Publication:
    """Let what served before serve again; the write policy stays."""
    serving = alone(namespace, expected)
    any_before, version = before(namespace)
    if not any_before:
        raise RefusedError("No profile was published here: there is nothing to go back to.", "nothing_before")
    said = f"Rolled back. {note}".strip()
    return serve(namespace, serving, note=said, by=by, rolled_back=True, profile_version_id=version)
