"""Which system and parameters rank: what the caller names, what the namespace serves, or what ships."""

from collections.abc import Mapping

from memories.models import Namespace, ProfileVersion
from memories.retrieval.query import VERSION_SEPARATOR, Config
from scoring.params import ParamProblem, ParamsError
from scoring.systems import SYSTEMS
from scoring.systems.system import System

DEFAULT_SYSTEM = "blend"  # what measured best


class UnknownProfileError(LookupError):
    """A profile that a namespace does not have."""


def resolve_config(
    namespace: Namespace, *, system: str = "", profile: str = "", params: Mapping[str, object]
) -> Config:
    """Find the setting; a value outside its bounds is refused (ParamsError), as is an unknown profile."""
    if system:
        found = Config(SYSTEMS[system], mode_preset(namespace, SYSTEMS[system]))
    elif profile:
        found = config_of_version(find_profile_version(namespace, profile))
    else:
        serving = namespace.serving
        found = serving_config(serving.profile_version if serving else None)
    return override_params(found, params)


def parse_config_label(label: str) -> dict[str, str]:
    """What an address says it is ranked by, as `setting` and the API name it."""
    return {"profile" if VERSION_SEPARATOR in label else "system": label} if label else {}


def override_params(config: Config, params: Mapping[str, object]) -> Config:
    """The same setting with what the caller says on top."""
    given = {**config.given, **params}
    config.system.params.of(given)  # refuses what no plan could make right
    return Config(config.system, given, config.profile, config.version, config.version_id)


def mode_preset(namespace: Namespace, system: System) -> Mapping[str, object]:
    """What a system's preset for the namespace's purpose says; contextdb has one for each mode."""
    return dict(system.presets.get(namespace.mode, {}))


def find_profile_version(namespace: Namespace, name: str) -> ProfileVersion:
    """A profile's version by name: the latest, or the one whose number follows the @."""
    plain, _, number = name.rpartition(VERSION_SEPARATOR)
    numbered = plain and number.isdecimal()
    chosen = {"profile__name": plain, "number": int(number)} if numbered else {"profile__name": name}
    versions = ProfileVersion.objects.within(namespace).filter(**chosen).select_related("profile")
    version = versions.order_by("number").last()
    if version is None:
        raise UnknownProfileError(name)
    return version


def config_of_version(version: ProfileVersion) -> Config:
    """What a version says; one of a system that is gone is refused like a wrong value."""
    if version.system not in SYSTEMS:
        raise ParamsError([ParamProblem("system", f"must be one of {', '.join(SYSTEMS)}; got {version.system!r}")])
    return Config(SYSTEMS[version.system], version.params, version.profile.name, version.number, version.id)


def serving_config(version: ProfileVersion | None) -> Config:
    """What a version says, or where none serves what ships."""
    return config_of_version(version) if version else Config(SYSTEMS[DEFAULT_SYSTEM])
