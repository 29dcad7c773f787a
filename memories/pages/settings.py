"""The Settings page: title, mode and redaction of a namespace, its embedder, and new namespaces."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError as ModelValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST
from rest_framework.exceptions import ValidationError

from memories.jobs.registry import job_completion
from memories.jobs.submission import BusyError, submit_job
from memories.models import Job, Namespace
from memories.models.choices import JobKind, JobState, Mode, Role
from memories.models.job import UNFINISHED
from memories.pages.access import access_of, members_only, require_role
from memories.pages.request_data import filled_fields
from memories.providers.embedder import ALLOWED, EMBEDDERS
from memories.retrieval.config import default_config, serving_description
from memories.web.fields import OneOf, Text
from memories.web.layout import render_page
from memories.web.memberships import create_namespace
from memories.web.namespace_bodies import NamespaceChange, ReembedParams
from memories.web.roles import Access
from memories.web.serializers import StrictObject, valid_values
from memories.web.validation_errors import flatten_errors


class NewNamespaceSerializer(StrictObject):
    """Form of a new namespace."""

    slug = Text(max_length=50)
    title = Text(max_length=200, required=False)
    mode = OneOf(choices=Mode.values, default=Mode.GENERAL)


@require_http_methods(["GET", "POST"])
@members_only
def settings_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Show the settings; POST changes title, mode and redaction."""
    if request.method == "GET":
        return render_settings(request, namespace, access_of(request, namespace))
    access = require_role(request, namespace, Role.ADMIN)
    given = {"title": "", "mode": "", **filled_fields(request.POST), "redacts": "redacts" in request.POST}
    try:
        change = valid_values(NamespaceChange(data=given))
    except ValidationError as error:
        return render_settings(
            request, namespace, access, given=given, wrong=list(flatten_errors(error.detail)), status=400
        )
    Namespace.objects.filter(id=namespace.id).update(**change)
    messages.success(request, "Saved.")
    return redirect("keys-settings", namespace.slug)


@require_POST
@members_only
def change_embedder(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Submit a job that re-embeds everything and then switches over."""
    access = require_role(request, namespace, Role.ADMIN)
    given = filled_fields(request.POST)
    try:
        submit_job(namespace, JobKind.REEMBED, valid_values(ReembedParams(data=given)), by=access.caller)
    except ValidationError as error:
        wrong = {"wanted": given.get("embedder", ""), "wrong_embedder": list(flatten_errors(error.detail))}
        return render_settings(request, namespace, access, status=400, **wrong)
    except BusyError as error:
        messages.warning(request, str(error))
    return redirect("keys-settings", namespace.slug)


@require_POST
@members_only
def namespace_create_view(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Create another namespace, with the user as its admin."""
    access = require_role(request, namespace, Role.ADMIN)
    given = filled_fields(request.POST)
    try:
        body = valid_values(NewNamespaceSerializer(data=given))
        created = create_namespace(body["slug"], title=body.get("title", ""), mode=body["mode"], admin=request.user)
    except ValidationError as error:
        return render_settings(
            request, namespace, access, new=given, wrong_new=list(flatten_errors(error.detail)), status=400
        )
    except ModelValidationError as error:
        return render_settings(
            request, namespace, access, new=given, wrong_new=list(flatten_errors(error.message_dict)), status=400
        )
    messages.success(request, f"Created the namespace {created.slug}, with you as admin.")
    return redirect("keys", created.slug)


def render_settings(
    request: HttpRequest, namespace: Namespace, access: Access, *, status: int = 200, **more: Any
) -> HttpResponse:
    """The page; for htmx only the progress of an embedder change."""
    context = {
        "given": {"title": namespace.title, "mode": namespace.mode, "redacts": namespace.redacts},
        "modes": mode_options(),
        "serving": serving_description(namespace),
        "embedder": namespace.embedder,
        "shipped": list(EMBEDDERS),
        "allowed": ALLOWED,
        "change": last_embedder_change(namespace),
        "may_change": access.allows(Role.ADMIN),
        **more,
    }
    return render_page(request, "memories/settings.html", context, partial="change", status=status)


def mode_options() -> list[tuple[str, str]]:
    """The modes, each with what it serves until a profile is published."""
    return [(mode, f"{mode}: {default_config(Namespace(mode=mode)).description}") for mode in Mode.values]


def last_embedder_change(namespace: Namespace) -> dict[str, Any] | None:
    """The last change of the embedder and its progress."""
    job = Job.objects.within(namespace).filter(kind=JobKind.REEMBED).order_by("created_at", "id").last()
    if job is None:
        return None
    return {
        "job": job,
        "percent": 100 * job_completion(job),
        "open": job.state in UNFINISHED,
        "name": job.params["embedder"],
        "took_over": job.state == JobState.DONE and job.params["embedder"] == namespace.embedder,
    }
