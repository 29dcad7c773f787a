"""Evaluation, publication and shadowing of a profile version as request bodies."""

from uuid import UUID

from django.http import Http404

from memories.models import Namespace, ProfileVersion, WritePolicyVersion
from memories.models.choices import Split
from memories.tuning import version_history
from memories.tuning.policy_drafts import find_policy_version
from memories.web.fields import Identifier, Integer, OneOf, Text
from memories.web.serializers import StrictObject


class EvaluateProfileSerializer(StrictObject):
    """What to evaluate on."""

    set = Text(
        max_length=100, required=False, help_text="judgement set by name or id; default: the one with most queries"
    )
    split = OneOf(choices=Split.values, required=False, help_text="default: all queries")


class PublishProfileSerializer(StrictObject):
    """Publication options."""

    serving = Identifier(
        required=False,
        allow_null=True,
        help_text="the current publication as the caller knows it, null for none; a conflict if it has changed",
    )
    override = Text(max_length=2_000, required=False, help_text="reason to publish despite the gate's objection")
    note = Text(max_length=2_000, allow_blank=True, default="")


class ShadowRequest(StrictObject):
    """The shadow version and its share of the traffic."""

    version = Identifier()
    percent = Integer(min_value=1, max_value=100, default=10, help_text="share of the traces to run again")


def profile_version_or_404(namespace: Namespace, id: UUID) -> ProfileVersion:
    """Load a profile version of a namespace, or raise 404."""
    version = version_history.find_version(namespace, id)
    if version is None:
        raise Http404(f"There is no profile version {id} here.")
    return version


def policy_version_or_404(namespace: Namespace, id: UUID) -> WritePolicyVersion:
    """Load a version of a write policy of a namespace, or raise 404."""
    version = find_policy_version(namespace, id)
    if version is None:
        raise Http404(f"There is no policy version {id} here.")
    return version
