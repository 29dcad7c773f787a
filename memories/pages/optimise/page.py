"""The optimiser's page, and what a person does on it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.views.decorators.http import require_GET, require_POST
from rest_framework.exceptions import ValidationError

from memories.jobs.stopping import stop
from memories.models import Job, Namespace
from memories.models.choices import JobKind, Role
from memories.pages.access import access_of, demanded, members_only
from memories.pages.optimise.form import Form, filled, told
from memories.pages.optimise.run import runs, shown, verdict
from memories.tuning import optimising, profiles
from memories.tuning.optimising import Wish
from recall_site.layout import render_page

TEMPLATE = "memories/optimise.html"


@require_GET
@members_only
def optimise(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Choose what to search, and watch a search; htmx asks for how far it is, and for another system's parameters."""
    htmx: Any = getattr(request, "htmx", None)
    if htmx and htmx.target == "choose":
        offered = {**frame(request, namespace), **Form(namespace, request.GET).context()}
        return render_page(request, TEMPLATE, offered, partial="choose")
    job = chosen(namespace, request.GET.get("job", ""))
    context = {**frame(request, namespace), "run": shown(namespace, job) if job else None}
    if htmx:
        return render_page(request, TEMPLATE, context, partial="run")
    sent = filled(Wish.of(job.params)) if job and not request.GET.keys() - {"job"} else request.GET
    context |= {**Form(namespace, sent).context(), "runs": runs(namespace, job)}
    return render_page(request, TEMPLATE, context)


@require_POST
@members_only
def begun(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Have a search done; a wish that makes no sense is shown as it was typed."""
    access = demanded(request, namespace, Role.WRITE)
    form = Form(namespace, request.POST)
    try:
        job = optimising.begin(namespace, form.wish(), by=access.caller)
    except ValidationError as error:
        wrong = Form(namespace, request.POST, told(error))
        context = {**frame(request, namespace), **wrong.context(), "run": None, "runs": runs(namespace, None)}
        return render_page(request, TEMPLATE, context, status=400)
    return redirect(f"{resolve_url('optimise', namespace.slug)}?job={job.id}")


@require_POST
@members_only
def stopped(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Have a search end with the best so far."""
    demanded(request, namespace, Role.WRITE)
    job = search_of(namespace, id)
    stop(job)
    return redirect(f"{resolve_url('optimise', namespace.slug)}?job={job.id}")


@require_POST
@members_only
def saved(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Keep what a search found as the next version of a profile; it serves nobody until it is published."""
    demanded(request, namespace, Role.WRITE)
    job = search_of(namespace, id)
    wish, taken = Wish.of(job.params), job.result.get("search", {}).get("chosen")
    name = request.POST.get("name", "").strip()
    here = f"{resolve_url('optimise', namespace.slug)}?job={job.id}"
    if not taken:
        messages.warning(request, "This search changed nothing, so there is nothing to save.")
        return redirect(here)
    if wrong := profiles.flaw(name):
        messages.warning(request, wrong)
        return redirect(here)
    version = profiles.add_version(
        namespace,
        name=name,
        system=wish.setting.system.name,
        params={**wish.setting.given, **taken},
        parent=wish.setting.version_id,
        note=f"Found by a search of {job.result['search']['tried']} settings. {verdict(job)}.",
        by=request.user.get_username(),
    )
    messages.success(request, f"Saved as {profiles.called(version)}. It serves nobody until it is published.")
    return redirect(here)


def frame(request: HttpRequest, namespace: Namespace) -> dict[str, Any]:
    """What every part of the page needs."""
    access = access_of(request, namespace)
    return {
        "namespace": namespace,
        "may_write": access.allows(Role.WRITE),
    }


def chosen(namespace: Namespace, id: str) -> Job | None:
    """The search that the address names, else the latest."""
    if id:
        try:
            return search_of(namespace, UUID(id))
        except ValueError as error:
            raise Http404(f"There is no search {id} here.") from error
    return Job.objects.within(namespace).filter(kind=JobKind.OPTIMISE).order_by("created_at", "id").last()


def search_of(namespace: Namespace, id: UUID) -> Job:
    """A search of the namespace."""
    job = Job.objects.within(namespace).filter(id=id, kind=JobKind.OPTIMISE).select_related("namespace").first()
    if job is None:
        raise Http404(f"There is no search {id} here.")
    return job
