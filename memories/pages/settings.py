"""What a namespace is called and for, which embedder serves it, and how another one is founded."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError as Refused
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST
from rest_framework.exceptions import ValidationError

from memories.api.jobs import ReembedParams
from memories.api.namespaces import NamespaceChange
from memories.jobs.registry import job_completion
from memories.jobs.submission import BusyError, submit_job
from memories.members import found
from memories.models import Job, Namespace
from memories.models.choices import JobKind, Mode, Role
from memories.models.job import UNFINISHED
from memories.pages.access import access_of, members_only, require_role
from memories.pages.request_data import filled_fields
from memories.providers.embedder import ALLOWED, EMBEDDERS
from memories.web.fields import Text
from memories.web.roles import Access
from memories.web.serializers import StrictObject, valid_values
from recall_site.layout import render_page
from recall_site.problems import flat


class NewNamespace(StrictObject):
    """A namespace to be founded."""

    slug = Text(max_length=50)
    title = Text(max_length=200, required=False)


@require_http_methods(["GET", "POST"])
@members_only
def settings(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Show what can be set; change title, purpose and redaction."""
    if request.method == "GET":
        return show(request, namespace, access_of(request, namespace))
    access = require_role(request, namespace, Role.ADMIN)
    given = {"title": "", "mode": "", **filled_fields(request.POST), "redacts": "redacts" in request.POST}
    try:
        change = valid_values(NamespaceChange(data=given))
    except ValidationError as error:
        return show(request, namespace, access, given=given, wrong=list(flat(error.detail)), status=400)
    Namespace.objects.filter(id=namespace.id).update(**change)
    messages.success(request, "Saved.")
    return redirect("keys-settings", namespace.slug)


@require_POST
@members_only
def reembed(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Have everything embedded anew by another embedder, which then takes over without a gap."""
    access = require_role(request, namespace, Role.ADMIN)
    given = filled_fields(request.POST)
    try:
        submit_job(namespace, JobKind.REEMBED, valid_values(ReembedParams(data=given)), by=access.caller)
    except ValidationError as error:
        wrong = {"wanted": given.get("embedder", ""), "wrong_embedder": list(flat(error.detail))}
        return show(request, namespace, access, status=400, **wrong)
    except BusyError as error:
        messages.warning(request, str(error))
    return redirect("keys-settings", namespace.slug)


@require_POST
@members_only
def new_namespace(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Found another namespace, with who asks for it as its admin."""
    access = require_role(request, namespace, Role.ADMIN)
    given = filled_fields(request.POST)
    try:
        wanted = valid_values(NewNamespace(data=given))
        made = found(wanted["slug"], title=wanted.get("title", ""), admin=request.user)
    except ValidationError as error:
        return show(request, namespace, access, new=given, wrong_new=list(flat(error.detail)), status=400)
    except Refused as error:
        return show(request, namespace, access, new=given, wrong_new=list(flat(error.message_dict)), status=400)
    messages.success(request, f"Created the namespace {made.slug}, with you as admin.")
    return redirect("keys", made.slug)


def show(request: HttpRequest, namespace: Namespace, access: Access, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page; where htmx asks, only how far the change of the embedder is."""
    context = {
        "given": {"title": namespace.title, "mode": namespace.mode, "redacts": namespace.redacts},
        "modes": Mode.values,
        "embedder": namespace.embedder,
        "shipped": list(EMBEDDERS),
        "allowed": ALLOWED,
        "change": last_change(namespace),
        "may_change": access.allows(Role.ADMIN),
        **more,
    }
    return render_page(request, "memories/settings.html", context, partial="change", status=status)


def last_change(namespace: Namespace) -> dict[str, Any] | None:
    """The last change of the embedder, and how far it is."""
    job = Job.objects.within(namespace).filter(kind=JobKind.REEMBED).order_by("created_at", "id").last()
    if job is None:
        return None
    return {
        "job": job,
        "percent": 100 * job_completion(job),
        "open": job.state in UNFINISHED,
        "name": job.params["embedder"],
    }
