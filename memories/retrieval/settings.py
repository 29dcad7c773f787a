"""Which system and parameters rank: what the caller names, what the namespace serves, or what ships."""

from collections.abc import Mapping

from memories.models import Namespace, ProfileVersion
from memories.retrieval.query import AT_VERSION, Setting
from scoring.params import ParamsError, Problem
from scoring.systems import SYSTEMS
from scoring.systems.system import System

SHIPPED = "blend"  # what measured best


class UnknownProfileError(LookupError):
    """A profile that a namespace does not have."""


def setting(namespace: Namespace, *, system: str = "", profile: str = "", params: Mapping[str, object]) -> Setting:
    """Find the setting; a value outside its bounds is refused (ParamsError), as is an unknown profile."""
    if system:
        found = Setting(SYSTEMS[system], mode_of(namespace, SYSTEMS[system]))
    elif profile:
        found = of_version(named(namespace, profile))
    else:
        serving = namespace.serving
        found = of_served(serving.profile_version if serving else None)
    return with_params(found, params)


def said(by: str) -> dict[str, str]:
    """What an address says it is ranked by, as `setting` and the API name it."""
    return {"profile" if AT_VERSION in by else "system": by} if by else {}


def with_params(found: Setting, params: Mapping[str, object]) -> Setting:
    """The same setting with what the caller says on top."""
    given = {**found.given, **params}
    found.system.params.of(given)  # refuses what no plan could make right
    return Setting(found.system, given, found.profile, found.version, found.version_id)


def mode_of(namespace: Namespace, system: System) -> Mapping[str, object]:
    """What a system's preset for the namespace's purpose says; contextdb has one for each mode."""
    return dict(system.presets.get(namespace.mode, {}))


def named(namespace: Namespace, name: str) -> ProfileVersion:
    """A profile's version by name: the latest, or the one whose number follows the @."""
    plain, _, number = name.rpartition(AT_VERSION)
    numbered = plain and number.isdecimal()
    chosen = {"profile__name": plain, "number": int(number)} if numbered else {"profile__name": name}
    versions = ProfileVersion.objects.within(namespace).filter(**chosen).select_related("profile")
    version = versions.order_by("number").last()
    if version is None:
        raise UnknownProfileError(name)
    return version


def of_version(version: ProfileVersion) -> Setting:
    """What a version says; one of a system that is gone is refused like a wrong value."""
    if version.system not in SYSTEMS:
        raise ParamsError([Problem("system", f"must be one of {', '.join(SYSTEMS)}; got {version.system!r}")])
    return Setting(SYSTEMS[version.system], version.params, version.profile.name, version.number, version.id)


def of_served(version: ProfileVersion | None) -> Setting:
    """What a version says, or where none serves what ships."""
    return of_version(version) if version else Setting(SYSTEMS[SHIPPED])
