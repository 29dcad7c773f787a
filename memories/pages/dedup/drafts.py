"""Thresholds that were tried, as a version of the write policy that is not in force yet."""

from collections.abc import Mapping
from typing import Any

from memories.models import Namespace, WritePolicyVersion
from memories.pages import sliders
from memories.templatetags.numbers import figure
from memories.tuning import policy_drafts
from memories.writing.write_policy import current_write_policy
from scoring.params import ParamProblem
from scoring.policy import WritePolicyParams

THRESHOLDS = ("dedup_duplicate", "dedup_escalate")


def thresholds(sent: Any, served: WritePolicyParams) -> tuple[dict[str, float], list[ParamProblem]]:
    """The thresholds that a form or an address moves away from where they serve, and what cannot be used of it."""
    said, wrong = sliders.parse_valid_params(WritePolicyParams, sent, served.as_dict())
    problems = [ParamProblem(at, message) for at, message in wrong.items()]
    return {name: value for name, value in said.items() if name in THRESHOLDS}, problems


def keep(namespace: Namespace, chosen: Mapping[str, float], *, by: str) -> WritePolicyVersion:
    """Keep moved thresholds as the next version of the policy that serves; nothing is decided by it yet."""
    note = f"Dedup: {told(current_write_policy(namespace).with_values(**chosen))}."
    return policy_drafts.save_policy_draft(namespace, chosen, note=note, by=by)


def told(policy: WritePolicyParams) -> str:
    """Both thresholds in words."""
    return f"merged above {figure(policy.dedup_duplicate)}, judged from {figure(policy.dedup_escalate)}"
