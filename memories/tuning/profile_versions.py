"""Profiles: a system and its parameters, versioned."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from memories.models import Namespace, Profile, ProfileVersion
from memories.retrieval.query import VERSION_SEPARATOR, profile_version_name
from memories.tuning import versions
from scoring.params import ParamProblem, ParamsError
from scoring.systems import SYSTEMS

MAX_NAME_LENGTH: int = Profile._meta.get_field("name").max_length or 0


def add_profile_version(
    namespace: Namespace, *, name: str, system: str, params: Mapping[str, Any], parent: UUID | None, note: str, by: str
) -> ProfileVersion:
    """Store a configuration as the next, unpublished version of a profile; raises ParamsError."""
    if system not in SYSTEMS:
        raise ParamsError([ParamProblem("system", f"must be one of {', '.join(SYSTEMS)}; got {system!r}")])
    SYSTEMS[system].params.of(params)
    return versions.add_next_version(
        ProfileVersion,
        namespace,
        name=name,
        parent=parent,
        system=system,
        params=dict(params),
        note=note,
        created_by=by,
    )


def profile_name_problem(name: str) -> str:
    """What is wrong with a profile name, or an empty string."""
    if (
        0 < len(name) <= MAX_NAME_LENGTH
        and VERSION_SEPARATOR not in name
        and name.isprintable()
        and name == name.strip()
    ):
        return ""
    return f"must have 1 to {MAX_NAME_LENGTH} printable characters without {VERSION_SEPARATOR}; got {name!r}"


def version_label(version: ProfileVersion) -> str:
    """A version's label, such as careful@3."""
    return profile_version_name(version.profile.name, version.number)
