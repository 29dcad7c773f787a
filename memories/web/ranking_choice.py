"""The ranking configuration that a request names: a system and its preset, or a profile."""

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ValidationError

from scoring.systems import SYSTEMS

PRESET_HELP = "a preset of the system; GET systems/ lists them. params win over it"


def check_ranking_choice(body: Mapping[str, Any]) -> None:
    """Reject system and profile together, and a preset that the system does not have."""
    if "system" in body and "profile" in body:
        raise ValidationError({"profile": ["must not be given with system: a profile has its own"]})
    if "preset" not in body:
        return
    if "system" not in body:
        raise ValidationError({"preset": ["must be given with system, whose presets they are"]})
    check_preset(body["system"], body["preset"], at="preset")


def check_preset(system: str, preset: Any, *, at: str) -> None:
    """Reject a preset that a system does not have."""
    names = SYSTEMS[system].presets
    if preset not in names:
        allowed = f"must be one of {', '.join(names)}" if names else f"must not be given: {system} has no presets"
        raise ValidationError({at: [f'{allowed}; got "{preset}"']})
