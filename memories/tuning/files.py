"""Versions of profiles as YAML, to be kept and reviewed beside code and read back."""

from collections.abc import Mapping
from typing import Any

import yaml

from memories.models import Namespace, ProfileVersion
from memories.retrieval.settings import UnknownProfileError, named
from memories.tuning import profiles
from scoring.params import ParamsError, Problem

FIELDS = {"profile": str, "version": int, "parent": str, "system": str, "note": str, "params": dict}
NEEDED = ("profile", "system")
LONGEST = 100_000  # characters


def written(version: ProfileVersion) -> str:
    """A version as YAML: a line for each parameter that it gives, sorted, so that two versions differ line by line.

    All that is given is written, default or not: a plan may move a default, and never what is given.
    """
    told: dict[str, Any] = {"profile": version.profile.name, "version": version.number}
    if version.parent_id:
        parent = ProfileVersion.objects.within(version.namespace).select_related("profile").get(id=version.parent_id)
        told["parent"] = profiles.called(parent)
    told |= {"system": version.system, "note": version.note, "params": dict(sorted(version.params.items()))}
    return yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=10_000)


def read(namespace: Namespace, text: str, *, by: str) -> ProfileVersion:
    """Keep what a text says as the next version of its profile; the same again is no new one (ParamsError)."""
    told = parsed(text)
    name, system, note, params = told["profile"], told["system"], told.get("note", ""), told.get("params", {})
    if wrong := profiles.flaw(name):
        raise ParamsError([Problem("profile", wrong)])
    last = found(namespace, name)
    if last and (last.system, last.note, last.params) == (system, note, params):
        return last
    parent = found(namespace, told["parent"]) if "parent" in told else None  # of elsewhere: it follows the last one
    return profiles.add_version(
        namespace, name=name, system=system, params=params, parent=parent.id if parent else None, note=note, by=by
    )


def parsed(text: str) -> Mapping[str, Any]:
    """A text as the fields that it may have, each of its kind."""
    try:
        told = yaml.safe_load(text) if len(text) <= LONGEST else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "somewhere"
        raise ParamsError([Problem("yaml", f"must be YAML; it cannot be read at {where}")]) from error
    if not isinstance(told, dict):
        raise ParamsError([Problem("yaml", f"must name {', '.join(FIELDS)}, in at most {LONGEST:,} characters")])
    problems = [Problem("yaml", f"must name {name}") for name in NEEDED if name not in told]
    for name, value in told.items():
        if name not in FIELDS:
            problems.append(Problem(str(name), f"is not a field of a profile; allowed are {', '.join(FIELDS)}"))
        elif not isinstance(value, FIELDS[name]):
            problems.append(Problem(str(name), f"must be {KINDS[FIELDS[name]]}; got {value!r:.100}"))
    if problems:
        raise ParamsError(problems)
    return told


KINDS = {str: "a text", int: "a whole number", dict: "names with values"}


def found(namespace: Namespace, name: str) -> ProfileVersion | None:
    """A version by its name, if it is here."""
    try:
        return named(namespace, name)
    except UnknownProfileError:
        return None
