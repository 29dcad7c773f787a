"""Profiles over REST: versions, diffs, and import and export as YAML."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.models import Namespace, ProfileVersion, Publication
from memories.models.choices import Role, Split
from memories.tuning import profile_versions, profile_yaml, version_history
from memories.tuning.config_diff import version_differences
from memories.web.fields import Identifier, JsonObject, OneOf, Text
from memories.web.http_errors import params_validation_error
from memories.web.profile_bodies import profile_version_or_404
from memories.web.ranking_choice import PRESET_HELP, check_preset
from memories.web.serializers import QueryString, StrictObject
from scoring.params import ParamsError
from scoring.systems import SYSTEMS

STATES = ("draft", "evaluated", "published")


class NewProfileVersion(StrictObject):
    """A new profile version."""

    name = Text(max_length=profile_versions.MAX_NAME_LENGTH, default="default")
    system = OneOf(choices=list(SYSTEMS))
    preset = Text(max_length=100, required=False, help_text=PRESET_HELP)
    params = JsonObject(
        default=dict, help_text="parameters that differ from the system's defaults; GET systems/ lists them all"
    )
    parent = Identifier(  # type: ignore[assignment]
        required=False, help_text="the version it derives from; default: the last one of its profile"
    )
    note = Text(max_length=2_000, allow_blank=True, default="")

    def validate_name(self, name: str) -> str:
        """Reject a name that could be mistaken for name@version."""
        if message := profile_versions.profile_name_problem(name):
            raise ValidationError(message)
        return name


class NewProfileYaml(StrictObject):
    """A version as YAML."""

    yaml = Text(max_length=profile_yaml.MAX_LENGTH, trim_whitespace=False)


class ProfileDiffQuery(QueryString):
    """The version to compare with."""

    against = Identifier(required=False, help_text="another version; default: the parent, or the system's defaults")


class MetricSerializer(serializers.Serializer[Any]):
    """A mean over queries with its 95 % confidence interval."""

    mean = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    queries = serializers.IntegerField()


class EvaluationSerializer(serializers.Serializer[Any]):
    """The metrics of a version on a judgement set."""

    id = serializers.UUIDField()
    judgement_set_id = serializers.UUIDField()
    split = serializers.ChoiceField(choices=Split.values, allow_blank=True, help_text="empty: all queries")
    metrics = serializers.DictField(child=MetricSerializer())
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_blank=True)


class ProfileVersionSerializer(serializers.Serializer[version_history.VersionEntry]):
    """One version of a profile."""

    id = serializers.UUIDField(source="version.id")
    profile = serializers.CharField(source="version.profile.name")
    number = serializers.IntegerField(source="version.number")
    state = serializers.ChoiceField(choices=STATES)
    serving = serializers.BooleanField(help_text="whether it is the default for retrieval")
    system = serializers.CharField(source="version.system")
    params = serializers.DictField(source="version.params", help_text="non-default parameters")
    parent = serializers.UUIDField(source="version.parent_id", allow_null=True)  # type: ignore[assignment]
    changes = serializers.ListField(
        child=serializers.CharField(), help_text="differences from its parent, or from the system's defaults, as text"
    )
    evaluation = EvaluationSerializer(allow_null=True, help_text="the latest one")
    note = serializers.CharField(source="version.note", allow_blank=True)
    created_at = serializers.DateTimeField(source="version.created_at")
    created_by = serializers.CharField(source="version.created_by", allow_blank=True)


class PublicationSerializer(serializers.Serializer[Publication]):
    """A publication: which version, since when, and why."""

    id = serializers.UUIDField(help_text="pass it as `serving` to publish in its place")
    profile_version = serializers.UUIDField(source="profile_version_id", allow_null=True, help_text="null: defaults")
    policy_version = serializers.UUIDField(source="policy_version_id", allow_null=True)
    note = serializers.CharField(allow_blank=True)
    published_at = serializers.DateTimeField()
    published_by = serializers.CharField(allow_blank=True)


class ProfilesSerializer(serializers.Serializer[Any]):
    """The newest versions of all profiles, and the current publication."""

    serving = PublicationSerializer(allow_null=True, help_text="null: nothing is published, the defaults apply")
    results = ProfileVersionSerializer(many=True)


class ProfileDiffSerializer(serializers.Serializer[Any]):
    """The differences between two versions."""

    against = serializers.UUIDField(allow_null=True, help_text="null: the system's defaults")
    changes = serializers.ListField(child=serializers.CharField())


class ProfileYamlSerializer(serializers.Serializer[Any]):
    """A version as YAML."""

    yaml = serializers.CharField()


class ProfilesView(NamespacedView):
    """The profiles of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(operation_id="profiles", responses=ProfilesSerializer, tags=["profiles"])
    def get(self, request: Request, namespace: str) -> Response:
        """List the newest 100 versions of all profiles, newest first, and the current publication."""
        QueryString.from_request(request)
        result = {"serving": self.namespace.serving, "results": version_history.list_versions(self.namespace)}
        return Response(ProfilesSerializer(result).data)

    @extend_schema(
        operation_id="add_profile_version",
        request=NewProfileVersion,
        responses={201: ProfileVersionSerializer},
        tags=["profiles"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Save the next version of a profile: a draft, unused until it is published."""
        body = {"parent": None, **NewProfileVersion.from_request(request)}
        if preset := body.pop("preset", ""):
            check_preset(body["system"], preset, at="preset")
            body["params"] = {**SYSTEMS[body["system"]].presets[preset], **body["params"]}
        if body["parent"] and version_history.find_version(self.namespace, body["parent"]) is None:
            message = f"must be a profile version of this namespace; got {body['parent']}"
            raise ValidationError({"parent": [message]})
        try:
            version = profile_versions.add_profile_version(self.namespace, by=self.access.caller, **body)
        except ParamsError as error:
            raise params_validation_error(error) from error
        return Response(profile_version_to_dict(self.namespace, version), status=201)


class ProfileYamlImportView(NamespacedView):
    """Import of versions as YAML."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="import_profile",
        request=NewProfileYaml,
        responses={201: ProfileVersionSerializer},
        tags=["profiles"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Save YAML as the next version of its profile; no new version if it equals the last one."""
        body = NewProfileYaml.from_request(request)
        try:
            version = profile_yaml.load_profile_yaml(self.namespace, body["yaml"], by=self.access.caller)
        except ParamsError as error:
            raise ValidationError({"yaml": {problem.at: [problem.message] for problem in error.problems}}) from error
        return Response(profile_version_to_dict(self.namespace, version), status=201)


class ProfileVersionView(NamespacedView):
    """One version."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="profile_version", responses=ProfileVersionSerializer, tags=["profiles"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Read a version: its parameters, changes and latest evaluation."""
        QueryString.from_request(request)
        return Response(profile_version_to_dict(self.namespace, profile_version_or_404(self.namespace, id)))


class ProfileDiffView(NamespacedView):
    """Diff of two versions."""

    roles = {"GET": Role.READ}

    @extend_schema(
        operation_id="diff_profile", parameters=[ProfileDiffQuery], responses=ProfileDiffSerializer, tags=["profiles"]
    )
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Describe the changes from another version to this one."""
        version = profile_version_or_404(self.namespace, id)
        against_id = ProfileDiffQuery.from_request(request).get("against", version.parent_id)
        against = profile_version_or_404(self.namespace, against_id) if against_id else None
        changes = version_differences(self.namespace, against, version)
        return Response({"against": against_id, "changes": changes})


class ProfileYamlExportView(NamespacedView):
    """Export of a version as YAML."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="profile_as_yaml", responses=ProfileYamlSerializer, tags=["profiles"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Export a version as YAML that any namespace can import."""
        QueryString.from_request(request)
        return Response({"yaml": profile_yaml.profile_to_yaml(profile_version_or_404(self.namespace, id))})


def profile_version_to_dict(namespace: Namespace, version: ProfileVersion) -> Any:
    """A profile version as JSON."""
    return ProfileVersionSerializer(version_history.version_entry(namespace, version.id)).data
