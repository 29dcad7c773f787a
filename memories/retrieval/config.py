"""Resolves the configuration of a query: the system or profile it names, else the serving profile, else the mode's."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from memories.db.pipeline import Statement, fetch_pipeline
from memories.models import Namespace, ProfileVersion
from memories.models.choices import Mode
from memories.retrieval.query import VERSION_SEPARATOR, Config, profile_version_name
from scoring.params import ParamProblem, ParamsError
from scoring.systems import SYSTEMS
from scoring.systems.system import System

PRESET_SEPARATOR = "/"  # recall/exploratory is the preset exploratory of recall
DEFAULT_SYSTEM = "blend"  # best in docs/measurements.md
# What is served before anything is published: the system whose presets the modes are; in general the default.
SYSTEM_BY_MODE = {mode: DEFAULT_SYSTEM if mode == Mode.GENERAL else "contextdb" for mode in Mode}
# Read by every query, so it is prepared; Django compiles and Postgres plans its join anew each time.
PUBLISHED = """
    SELECT v.system, v.params, profile.name, v.number, v.id FROM (
        SELECT profile_version_id FROM memories_publication
        WHERE namespace_id = %(namespace)s ORDER BY published_at DESC, id DESC LIMIT 1
    ) AS latest
    JOIN memories_profileversion v ON v.namespace_id = %(namespace)s AND v.id = latest.profile_version_id
    JOIN memories_profile profile ON profile.namespace_id = %(namespace)s AND profile.id = v.profile_id
"""


class UnknownProfileError(LookupError):
    """The namespace has no such profile."""


def resolve_config(
    namespace: Namespace, *, system: str = "", preset: str = "", profile: str = "", params: Mapping[str, object]
) -> Config:
    """Resolve the configuration (ParamsError, UnknownProfileError; KeyError for an unknown system or preset)."""
    if system:
        config = system_config(namespace, SYSTEMS[system], preset)
    elif profile:
        config = config_of_version(find_profile_version(namespace, profile))
    else:
        config = published_config(namespace)
    return override_params(config, config.system.params.as_requested(params))


def parse_config_label(label: str) -> dict[str, str]:
    """A URL's label as the API's `profile`, or `system` and `preset`."""
    if VERSION_SEPARATOR in label:
        return {"profile": label}
    system, _, preset = label.partition(PRESET_SEPARATOR)
    return {name: value for name, value in (("system", system), ("preset", preset)) if value}


def system_label(system: str, preset: str = "") -> str:
    """A system and its preset as a URL names them; inverse of `parse_config_label`."""
    return f"{system}{PRESET_SEPARATOR}{preset}" if preset else system


def override_params(config: Config, params: Mapping[str, object]) -> Config:
    """The configuration with the caller's parameters on top."""
    given = {**config.given, **params}
    config.system.params.of(given)  # validates
    return replace(config, given=given)


def system_config(namespace: Namespace, system: System, preset: str = "") -> Config:
    """A system with a preset, by default that for the namespace's mode; contextdb has one for each."""
    preset = preset or (namespace.mode if namespace.mode in system.presets else "")
    return Config(system, dict(system.presets[preset]) if preset else {}, preset=preset)


def find_profile_version(namespace: Namespace, name: str) -> ProfileVersion:
    """A profile version by name: the latest, or the one numbered after the @."""
    profile, _, number = name.rpartition(VERSION_SEPARATOR)
    numbered = profile and number.isdecimal()
    lookup = {"profile__name": profile, "number": int(number)} if numbered else {"profile__name": name}
    versions = ProfileVersion.objects.within(namespace).filter(**lookup).select_related("profile")
    version = versions.order_by("number").last()
    if version is None:
        raise UnknownProfileError(name)
    return version


def config_of_version(version: ProfileVersion) -> Config:
    """The configuration of a version (ParamsError if its system no longer exists)."""
    return stored_config(version.system, version.params, version.profile.name, version.number, version.id)


def stored_config(system: str, params: Mapping[str, object], profile: str, number: int, version: UUID) -> Config:
    """The configuration of a version by its columns (ParamsError if its system no longer exists)."""
    if system not in SYSTEMS:
        raise ParamsError([ParamProblem("system", f"must be one of {', '.join(SYSTEMS)}; got {system!r}")])
    return Config(SYSTEMS[system], params, profile, number, version)


def published_config(namespace: Namespace) -> Config:
    """The configuration that a namespace serves."""
    [rows] = fetch_pipeline([Statement(PUBLISHED, {"namespace": namespace.id})])
    return stored_config(*rows[0]) if rows else default_config(namespace)


def serving_config(namespace: Namespace, version: ProfileVersion | None) -> Config:
    """The configuration of the serving version; without one, where the namespace's mode starts."""
    return config_of_version(version) if version else default_config(namespace)


def default_config(namespace: Namespace) -> Config:
    """What a namespace serves before anything is published."""
    return system_config(namespace, SYSTEMS[SYSTEM_BY_MODE[Mode(namespace.mode)]])


def serving_description(namespace: Namespace) -> str:
    """What ranks a query that names no configuration."""
    serving = namespace.serving
    version = serving.profile_version if serving else None
    return (
        profile_version_name(version.profile.name, version.number) if version else default_config(namespace).description
    )
