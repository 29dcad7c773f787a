"""Resolves the configuration of a query: the system or profile it names, else the serving profile, else the default."""

from collections.abc import Mapping
from dataclasses import replace

from memories.models import Namespace, ProfileVersion
from memories.retrieval.query import VERSION_SEPARATOR, Config
from scoring.params import ParamProblem, ParamsError
from scoring.systems import SYSTEMS
from scoring.systems.system import System

DEFAULT_SYSTEM = "blend"  # best in docs/measurements.md


class UnknownProfileError(LookupError):
    """The namespace has no such profile."""


def resolve_config(
    namespace: Namespace, *, system: str = "", profile: str = "", params: Mapping[str, object]
) -> Config:
    """Resolve the configuration (ParamsError, UnknownProfileError)."""
    if system:
        config = Config(SYSTEMS[system], mode_preset(namespace, SYSTEMS[system]))
    elif profile:
        config = config_of_version(find_profile_version(namespace, profile))
    else:
        serving = namespace.serving
        config = serving_config(serving.profile_version if serving else None)
    return override_params(config, params)


def parse_config_label(label: str) -> dict[str, str]:
    """A URL's label as the API's `profile` or `system`."""
    return {"profile" if VERSION_SEPARATOR in label else "system": label} if label else {}


def override_params(config: Config, params: Mapping[str, object]) -> Config:
    """The configuration with the caller's parameters on top."""
    given = {**config.given, **params}
    config.system.params.of(given)  # validates
    return replace(config, given=given)


def mode_preset(namespace: Namespace, system: System) -> Mapping[str, object]:
    """A system's preset for the namespace's mode; contextdb has one for each."""
    return dict(system.presets.get(namespace.mode, {}))


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
    if version.system not in SYSTEMS:
        raise ParamsError([ParamProblem("system", f"must be one of {', '.join(SYSTEMS)}; got {version.system!r}")])
    return Config(SYSTEMS[version.system], version.params, version.profile.name, version.number, version.id)


def serving_config(version: ProfileVersion | None) -> Config:
    """The configuration of the serving version, or the default system."""
    return config_of_version(version) if version else Config(SYSTEMS[DEFAULT_SYSTEM])
