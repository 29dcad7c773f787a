"""Thresholds that were tried, as a version of the write policy that is not in force yet."""

from collections.abc import Mapping
from typing import Any

from memories.models import Namespace, WritePolicyVersion
from memories.pages import sliders
from memories.templatetags.numbers import figure
from memories.tuning import drafts
from memories.writing.policy import policy_of
from scoring.params import Problem
from scoring.policy import WritePolicy

THRESHOLDS = ("dedup_duplicate", "dedup_escalate")


def thresholds(sent: Any, served: WritePolicy) -> tuple[dict[str, float], list[Problem]]:
    """The thresholds that a form or an address moves away from where they serve, and what cannot be used of it."""
    said, wrong = sliders.moved(WritePolicy, sent, served.as_dict())
    problems = [Problem(at, message) for at, message in wrong.items()]
    return {name: value for name, value in said.items() if name in THRESHOLDS}, problems


def keep(namespace: Namespace, chosen: Mapping[str, float], *, by: str) -> WritePolicyVersion:
    """Keep moved thresholds as the next version of the policy that serves; nothing is decided by it yet."""
    note = f"Dedup: {told(policy_of(namespace).but(**chosen))}."
    return drafts.keep(namespace, chosen, note=note, by=by)


def told(policy: WritePolicy) -> str:
    """Both thresholds in words."""
    return f"merged above {figure(policy.dedup_duplicate)}, judged from {figure(policy.dedup_escalate)}"
