"""Profile versions as YAML, to review next to code and import again."""

from collections.abc import Mapping
from typing import Any

import yaml

from memories.models import Namespace, ProfileVersion
from memories.retrieval.config import UnknownProfileError, find_profile_version
from memories.tuning import profile_versions
from scoring.params import ParamProblem, ParamsError

FIELDS = {"profile": str, "version": int, "parent": str, "system": str, "note": str, "params": dict}
REQUIRED = ("profile", "system")
TYPE_NAMES = {str: "a string", int: "an integer", dict: "a mapping"}
MAX_LENGTH = 100_000  # characters


def profile_to_yaml(version: ProfileVersion) -> str:
    """A version as YAML: one sorted line per given parameter, so that versions diff line by line.

    Given values equal to the default are included: a plan may override a default, never a given value.
    """
    fields: dict[str, Any] = {"profile": version.profile.name, "version": version.number}
    if version.parent_id:
        parent = ProfileVersion.objects.within(version.namespace).select_related("profile").get(id=version.parent_id)
        fields["parent"] = profile_versions.version_label(parent)
    fields |= {"system": version.system, "note": version.note, "params": dict(sorted(version.params.items()))}
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=10_000)


def load_profile_yaml(namespace: Namespace, text: str, *, by: str) -> ProfileVersion:
    """Store a YAML document as the next version of its profile; an unchanged one adds none. Raises ParamsError."""
    fields = parse_profile_yaml(text)
    name, system, note, params = fields["profile"], fields["system"], fields.get("note", ""), fields.get("params", {})
    if problem := profile_versions.profile_name_problem(name):
        raise ParamsError([ParamProblem("profile", problem)])
    latest = find_version_by_name(namespace, name)
    if latest and (latest.system, latest.note, latest.params) == (system, note, params):
        return latest
    # A parent unknown here falls back to the latest version.
    parent = find_version_by_name(namespace, fields["parent"]) if "parent" in fields else None
    return profile_versions.add_profile_version(
        namespace, name=name, system=system, params=params, parent=parent.id if parent else None, note=note, by=by
    )


def parse_profile_yaml(text: str) -> Mapping[str, Any]:
    """Parse and type-check the fields."""
    try:
        fields = yaml.safe_load(text) if len(text) <= MAX_LENGTH else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "an unknown position"
        raise ParamsError([ParamProblem("yaml", f"must be YAML; parsing failed at {where}")]) from error
    if not isinstance(fields, dict):
        raise ParamsError(
            [ParamProblem("yaml", f"must name {', '.join(FIELDS)}, in at most {MAX_LENGTH:,} characters")]
        )
    problems = [ParamProblem("yaml", f"must name {name}") for name in REQUIRED if name not in fields]
    for name, value in fields.items():
        if name not in FIELDS:
            problems.append(ParamProblem(str(name), f"is not a field of a profile; allowed are {', '.join(FIELDS)}"))
        elif not isinstance(value, FIELDS[name]):
            problems.append(ParamProblem(str(name), f"must be {TYPE_NAMES[FIELDS[name]]}; got {value!r:.100}"))
    if problems:
        raise ParamsError(problems)
    return fields


def find_version_by_name(namespace: Namespace, name: str) -> ProfileVersion | None:
    """A version by its name, or None."""
    try:
        return find_profile_version(namespace, name)
    except UnknownProfileError:
        return None
