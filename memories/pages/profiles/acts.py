"""What a person does about versions: measure, check, publish, roll back, let one follow, read one from YAML."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, resolve_url
from django.views.decorators.http import require_POST
from rest_framework.exceptions import ValidationError

from memories.api.judgements import set_named
from memories.api.profiles import version_of
from memories.api.publishing import EvaluateSerializer, PublishProfileSerializer
from memories.api.serializers import checked
from memories.api.shadows import CastShadow
from memories.models import Namespace
from memories.models.choices import Role
from memories.pages.access import demanded, members_only
from memories.pages.addresses import filled
from memories.pages.profiles.page import listing, shown
from memories.tuning import evaluations, files, gate, publishing, shadow
from memories.tuning.profiles import called
from memories.writing.refusal import RefusedError
from recall_site.problems import flat
from scoring.params import ParamsError, Problem

NOTHING = "none"  # what a form says of the publication it saw, where there was none


@require_POST
@members_only
def evaluate(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Have a version measured."""
    access = demanded(request, namespace, Role.WRITE)
    version = version_of(namespace, id)
    try:
        asked = checked(EvaluateSerializer(data=filled(request.POST)))
        judged = set_named(namespace, asked.get("set", ""))
    except ValidationError as error:
        return shown(request, namespace, version, wrong=problems(error), status=400)
    evaluations.begin(namespace, version, judged, asked.get("part", ""), by=access.caller)
    return HttpResponseRedirect(f"{resolve_url('profiles-one', namespace.slug, id)}#metrics")


@require_POST
@members_only
def check(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Have a version held against what serves."""
    access = demanded(request, namespace, Role.WRITE)
    gate.begin(namespace, version_of(namespace, id), by=access.caller)
    return HttpResponseRedirect(f"{resolve_url('profiles-one', namespace.slug, id)}#gate")


@require_POST
@members_only
def publish(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Let a version serve; what the gate or another publication has against it is told beside what was typed."""
    access = demanded(request, namespace, Role.ADMIN)
    version, sent = version_of(namespace, id), filled(request.POST)
    try:
        asked = checked(PublishProfileSerializer(data={**sent, **seen(sent)}))
        publishing.publish(
            namespace,
            version,
            by=access.caller,
            note=asked["note"],
            override=asked.get("override", ""),
            expected=asked.get("serving"),
        )
    except ValidationError as error:
        return shown(request, namespace, version, wrong=problems(error), status=400)
    except RefusedError as error:
        return shown(request, namespace, version, refused=str(error), status=409)
    messages.success(request, f"{called(version)} serves from now on.")
    return redirect("profiles", namespace.slug)


def seen(sent: dict[str, str]) -> dict[str, Any]:
    """The publication that a form was made from."""
    return {"serving": None if sent.get("serving") == NOTHING else sent.get("serving", "")}


@require_POST
@members_only
def roll_back(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Let what served before serve again."""
    access = demanded(request, namespace, Role.ADMIN)
    try:
        asked = checked(PublishProfileSerializer(data=seen(filled(request.POST))))
        publishing.roll_back(namespace, by=access.caller, expected=asked.get("serving"))
    except ValidationError as error:
        return listing(request, namespace, wrong=problems(error), status=400)
    except RefusedError as error:
        return listing(request, namespace, wrong=[Problem("", str(error))], status=409)
    messages.success(request, "Rolled back: what served before serves again.")
    return redirect("profiles", namespace.slug)


@require_POST
@members_only
def follow(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Let a version follow what is asked."""
    access = demanded(request, namespace, Role.ADMIN)
    version, percent = version_of(namespace, id), request.POST.get("percent", "").strip()
    try:
        share = int(percent) if percent.isdecimal() else percent
        asked = checked(CastShadow(data={"version": str(id), "percent": share}))
    except ValidationError as error:
        return shown(request, namespace, version, wrong=problems(error), status=400)
    shadow.cast(namespace, version, asked["percent"], by=access.caller)
    messages.success(request, f"{called(version)} follows {asked['percent']} % of what is asked from now on.")
    return HttpResponseRedirect(f"{resolve_url('profiles', namespace.slug)}#shadow")


@require_POST
@members_only
def unfollow(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Have no shadow any more."""
    demanded(request, namespace, Role.ADMIN)
    if shadow.end(namespace):
        messages.success(request, "Nothing follows any more.")
    return redirect("profiles", namespace.slug)


@require_POST
@members_only
def take_in(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Keep what YAML says as a version."""
    access = demanded(request, namespace, Role.WRITE)
    try:
        version = files.read(namespace, request.POST.get("yaml", ""), by=access.caller)
    except ParamsError as error:
        return listing(request, namespace, wrong=error.problems, status=400)
    return redirect("profiles-one", namespace.slug, version.id)


def problems(error: ValidationError) -> list[Problem]:
    """What is wrong with a form, place by place."""
    return [Problem(one["at"], one["message"]) for one in flat(error.detail)]
