"""Profiles: a system and its parameters, kept version by version."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from memories.models import Namespace, Profile, ProfileVersion
from memories.retrieval.query import AT_VERSION, versioned
from memories.tuning import versions
from scoring.params import ParamsError, Problem
from scoring.systems import SYSTEMS

LONGEST_NAME: int = Profile._meta.get_field("name").max_length or 0


def add_version(
    namespace: Namespace, *, name: str, system: str, params: Mapping[str, Any], parent: UUID | None, note: str, by: str
) -> ProfileVersion:
    """Keep a setting as the next version of a profile; it serves nobody until it is published (ParamsError)."""
    if system not in SYSTEMS:
        raise ParamsError([Problem("system", f"must be one of {', '.join(SYSTEMS)}; got {system!r}")])
    SYSTEMS[system].params.of(params)
    return versions.add(
        ProfileVersion,
        namespace,
        name=name,
        parent=parent,
        system=system,
        params=dict(params),
        note=note,
        created_by=by,
    )


def flaw(name: str) -> str:
    """What is wrong with a profile's name, if anything."""
    if 0 < len(name) <= LONGEST_NAME and AT_VERSION not in name and name.isprintable() and name == name.strip():
        return ""
    return f"must have 1 to {LONGEST_NAME} printable characters without {AT_VERSION}; got {name!r}"


def called(version: ProfileVersion) -> str:
    """A version as one names it: careful@3."""
    return versioned(version.profile.name, version.number)
