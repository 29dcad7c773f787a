"""Actions on profile versions: evaluate, check, publish, roll back, shadow, import YAML."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, resolve_url
from django.views.decorators.http import require_POST
from rest_framework.exceptions import ValidationError

from memories.jobs import tuning_jobs
from memories.models import Namespace
from memories.models.choices import Role
from memories.pages.access import members_only, require_role
from memories.pages.profiles.views import render_profile_list, render_profile_version
from memories.pages.request_data import filled_fields
from memories.tuning import profile_publication, profile_yaml, shadow
from memories.tuning.profile_versions import version_label
from memories.web.judgement_lookups import find_judgement_set
from memories.web.profile_bodies import (
    EvaluateProfileSerializer,
    PublishProfileSerializer,
    ShadowRequest,
    profile_version_or_404,
)
from memories.web.serializers import valid_values
from memories.web.validation_errors import validation_problems
from memories.writing.write_errors import RefusedError
from scoring.params import ParamProblem, ParamsError

NO_PUBLICATION = "none"  # form value for "nothing was published when this form was rendered"


@require_POST
@members_only
def evaluate_profile_version(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Start an evaluation of a version."""
    access = require_role(request, namespace, Role.WRITE)
    version = profile_version_or_404(namespace, id)
    try:
        values = valid_values(EvaluateProfileSerializer(data=filled_fields(request.POST)))
        judgement_set = find_judgement_set(namespace, values.get("set", ""))
    except ValidationError as error:
        return render_profile_version(request, namespace, version, problems=validation_problems(error), status=400)
    tuning_jobs.submit_evaluation_job(namespace, version, judgement_set, values.get("split", ""), by=access.caller)
    return HttpResponseRedirect(f"{resolve_url('profiles-one', namespace.slug, id)}#metrics")


@require_POST
@members_only
def check_profile_version(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Start the publication check of a version against what is served."""
    access = require_role(request, namespace, Role.WRITE)
    tuning_jobs.submit_gate_job(namespace, profile_version_or_404(namespace, id), by=access.caller)
    return HttpResponseRedirect(f"{resolve_url('profiles-one', namespace.slug, id)}#gate")


@require_POST
@members_only
def publish_profile_version(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Publish a version; a refusal by the gate or a conflict is shown with the form as typed."""
    access = require_role(request, namespace, Role.ADMIN)
    version, fields = profile_version_or_404(namespace, id), filled_fields(request.POST)
    try:
        values = valid_values(PublishProfileSerializer(data={**fields, **expected_publication(fields)}))
        profile_publication.publish_profile(
            namespace,
            version,
            by=access.caller,
            note=values["note"],
            override=values.get("override", ""),
            expected=values.get("serving"),
        )
    except ValidationError as error:
        return render_profile_version(request, namespace, version, problems=validation_problems(error), status=400)
    except RefusedError as error:
        return render_profile_version(request, namespace, version, refusal=str(error), status=409)
    messages.success(request, f"{version_label(version)} is served from now on.")
    return redirect("profiles", namespace.slug)


def expected_publication(fields: dict[str, str]) -> dict[str, Any]:
    """The publication that was served when the form was rendered."""
    return {"serving": None if fields.get("serving") == NO_PUBLICATION else fields.get("serving", "")}


@require_POST
@members_only
def roll_back_profile(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Publish what was served before."""
    access = require_role(request, namespace, Role.ADMIN)
    try:
        values = valid_values(PublishProfileSerializer(data=expected_publication(filled_fields(request.POST))))
        profile_publication.roll_back_version(namespace, by=access.caller, expected=values.get("serving"))
    except ValidationError as error:
        return render_profile_list(request, namespace, problems=validation_problems(error), status=400)
    except RefusedError as error:
        return render_profile_list(request, namespace, problems=[ParamProblem("", str(error))], status=409)
    messages.success(request, "Rolled back to what was served before.")
    return redirect("profiles", namespace.slug)


@require_POST
@members_only
def start_shadow(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Run a version as a shadow of the served one."""
    access = require_role(request, namespace, Role.ADMIN)
    version, percent = profile_version_or_404(namespace, id), request.POST.get("percent", "").strip()
    try:
        share = int(percent) if percent.isdecimal() else percent
        values = valid_values(ShadowRequest(data={"version": str(id), "percent": share}))
    except ValidationError as error:
        return render_profile_version(request, namespace, version, problems=validation_problems(error), status=400)
    shadow.create_shadow(namespace, version, values["percent"], by=access.caller)
    messages.success(request, f"{version_label(version)} shadows {values['percent']} % of queries from now on.")
    return HttpResponseRedirect(f"{resolve_url('profiles', namespace.slug)}#shadow")


@require_POST
@members_only
def end_shadow(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """End the shadow."""
    require_role(request, namespace, Role.ADMIN)
    if shadow.delete_shadow(namespace):
        messages.success(request, "The shadow has ended.")
    return redirect("profiles", namespace.slug)


@require_POST
@members_only
def import_profile_yaml(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Save a version from YAML."""
    access = require_role(request, namespace, Role.WRITE)
    try:
        version = profile_yaml.load_profile_yaml(namespace, request.POST.get("yaml", ""), by=access.caller)
    except ParamsError as error:
        return render_profile_list(request, namespace, problems=error.problems, status=400)
    return redirect("profiles-one", namespace.slug, version.id)
