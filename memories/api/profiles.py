"""Profiles over REST: versions, what tells them apart, and the same as YAML."""

from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Choice, Identifier, JsonObject, Text
from memories.api.idempotency import idempotent
from memories.api.refusals import wrong_params
from memories.api.serializers import Object, Query
from memories.api.views import NamespacedView
from memories.models import Namespace, ProfileVersion, Publication
from memories.models.choices import Part, Role
from memories.tuning import files, histories, profiles
from memories.tuning.differences import differences
from scoring.params import ParamsError
from scoring.systems import SYSTEMS

STATES = ("draft", "evaluated", "published")


class NewProfileVersion(Object):
    """A setting to be kept."""

    name = Text(max_length=profiles.LONGEST_NAME, default="default")
    system = Choice(choices=list(SYSTEMS))
    params = JsonObject(help_text="those that differ from the system's defaults; GET systems/ declares them all")
    parent = Identifier(  # type: ignore[assignment]
        required=False, help_text="the version it was made from; else the last one of its profile"
    )
    note = Text(max_length=2_000, allow_blank=True, default="")

    def validate_name(self, name: str) -> str:
        """Refuse a name that could not be told from a version."""
        if wrong := profiles.flaw(name):
            raise ValidationError(wrong)
        return name


class NewProfileText(Object):
    """A version as YAML."""

    yaml = Text(max_length=files.LONGEST, trim_whitespace=False)


class DiffQuery(Query):
    """Against what."""

    against = Identifier(required=False, help_text="another version; else the parent, or what ships")


class MetricSerializer(serializers.Serializer[Any]):
    """A mean over queries, and between which bounds 95 of 100 like samples have theirs."""

    mean = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    queries = serializers.IntegerField()


class EvaluationSerializer(serializers.Serializer[Any]):
    """How good a version is on judged queries."""

    id = serializers.UUIDField()
    judgement_set_id = serializers.UUIDField()
    part = serializers.ChoiceField(choices=Part.values, allow_blank=True, help_text="empty: all queries")
    metrics = serializers.DictField(child=MetricSerializer())
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_blank=True)


class ProfileVersionSerializer(serializers.Serializer[histories.Kept]):
    """One version of a profile."""

    id = serializers.UUIDField(source="version.id")
    profile = serializers.CharField(source="version.profile.name")
    number = serializers.IntegerField(source="version.number")
    state = serializers.ChoiceField(choices=STATES)
    serving = serializers.BooleanField(help_text="whether it ranks now, where a caller names nothing else")
    system = serializers.CharField(source="version.system")
    params = serializers.DictField(source="version.params", help_text="those that are given")
    parent = serializers.UUIDField(source="version.parent_id", allow_null=True)  # type: ignore[assignment]
    changes = serializers.ListField(
        child=serializers.CharField(), help_text="what it changes of its parent, or of what ships, in words"
    )
    evaluation = EvaluationSerializer(allow_null=True, help_text="the last one")
    note = serializers.CharField(source="version.note", allow_blank=True)
    created_at = serializers.DateTimeField(source="version.created_at")
    created_by = serializers.CharField(source="version.created_by", allow_blank=True)


class PublicationSerializer(serializers.Serializer[Publication]):
    """What serves, since when, and why."""

    id = serializers.UUIDField(help_text="to be named when something is published in its place")
    profile_version = serializers.UUIDField(source="profile_version_id", allow_null=True, help_text="null: what ships")
    policy_version = serializers.UUIDField(source="policy_version_id", allow_null=True)
    note = serializers.CharField(allow_blank=True)
    published_at = serializers.DateTimeField()
    published_by = serializers.CharField(allow_blank=True)


class ProfilesSerializer(serializers.Serializer[Any]):
    """The newest versions of all profiles, and what serves."""

    serving = PublicationSerializer(allow_null=True, help_text="null: nothing was published, and what ships serves")
    results = ProfileVersionSerializer(many=True)


class DifferencesSerializer(serializers.Serializer[Any]):
    """What changes from one version to another."""

    against = serializers.UUIDField(allow_null=True, help_text="null: what ships")
    changes = serializers.ListField(child=serializers.CharField())


class ProfileTextSerializer(serializers.Serializer[Any]):
    """A version as YAML."""

    yaml = serializers.CharField()


class Profiles(NamespacedView):
    """The profiles of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(operation_id="profiles", responses=ProfilesSerializer, tags=["profiles"])
    def get(self, request: Request, namespace: str) -> Response:
        """List the newest 100 versions of all profiles, newest first, and what serves."""
        Query.of(request)
        told = {"serving": self.namespace.serving, "results": histories.listed(self.namespace)}
        return Response(ProfilesSerializer(told).data)

    @extend_schema(
        operation_id="add_profile_version",
        request=NewProfileVersion,
        responses={201: ProfileVersionSerializer},
        tags=["profiles"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Keep a setting as the next version of a profile: a draft, by which nobody is answered yet."""
        asked = {"parent": None, **NewProfileVersion.of(request)}
        if asked["parent"] and histories.found(self.namespace, asked["parent"]) is None:
            wrong = f"must be a profile version of this namespace; got {asked['parent']}"
            raise ValidationError({"parent": [wrong]})
        try:
            version = profiles.add_version(self.namespace, by=self.access.caller, **asked)
        except ParamsError as error:
            raise wrong_params(error) from error
        return Response(told_of(self.namespace, version), status=201)


class ProfileTexts(NamespacedView):
    """Versions that come as YAML."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="import_profile",
        request=NewProfileText,
        responses={201: ProfileVersionSerializer},
        tags=["profiles"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Keep what YAML says as the next version of its profile; the same as the last one is no new one."""
        asked = NewProfileText.of(request)
        try:
            version = files.read(self.namespace, asked["yaml"], by=self.access.caller)
        except ParamsError as error:
            raise ValidationError({"yaml": {one.at: [one.message] for one in error.problems}}) from error
        return Response(told_of(self.namespace, version), status=201)


class ProfileVersionDetail(NamespacedView):
    """One version."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="profile_version", responses=ProfileVersionSerializer, tags=["profiles"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Read a version: what it says, what it changes, how good it is."""
        Query.of(request)
        return Response(told_of(self.namespace, version_of(self.namespace, id)))


class ProfileDiff(NamespacedView):
    """What tells two versions apart."""

    roles = {"GET": Role.READ}

    @extend_schema(
        operation_id="diff_profile", parameters=[DiffQuery], responses=DifferencesSerializer, tags=["profiles"]
    )
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Tell in words what changes from another version to this one."""
        version = version_of(self.namespace, id)
        wanted = DiffQuery.of(request).get("against", version.parent_id)
        against = version_of(self.namespace, wanted) if wanted else None
        return Response({"against": wanted, "changes": differences(against, version)})


class ProfileAsText(NamespacedView):
    """A version to be kept beside code."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="profile_as_yaml", responses=ProfileTextSerializer, tags=["profiles"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Give a version as YAML that can be sent back here or elsewhere."""
        Query.of(request)
        return Response({"yaml": files.written(version_of(self.namespace, id))})


def version_of(namespace: Namespace, id: UUID) -> ProfileVersion:
    """Find a version of a namespace."""
    version = histories.found(namespace, id)
    if version is None:
        raise Http404(f"There is no profile version {id} here.")
    return version


def told_of(namespace: Namespace, version: ProfileVersion) -> Any:
    """A version as the API tells it."""
    return ProfileVersionSerializer(histories.one(namespace, version.id)).data
