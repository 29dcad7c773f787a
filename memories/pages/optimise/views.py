"""Views of the Optimise page: start, stop and save a search."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.views.decorators.http import require_GET, require_POST
from rest_framework.exceptions import ValidationError

from memories.jobs import tuning_jobs
from memories.jobs.submission import cancel_job
from memories.models import Job, Namespace
from memories.models.choices import JobKind, Role
from memories.pages.access import access_of, members_only, require_role
from memories.pages.optimise.forms import SearchForm, form_data_from_spec, search_form_errors
from memories.pages.optimise.search_summary import other_searches, search_context, search_verdict
from memories.tuning import profile_versions
from memories.tuning.optimiser import SearchSpec
from memories.web.layout import render_page

TEMPLATE = "memories/optimise.html"


@require_GET
@members_only
def optimise_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The search form and a search's progress; htmx polls the progress and loads another system's parameters."""
    htmx: Any = getattr(request, "htmx", None)
    if htmx and htmx.target == "choose":
        context = {**optimise_context(request, namespace), **SearchForm(namespace, request.GET).context()}
        return render_page(request, TEMPLATE, context, partial="choose")
    job = selected_search(namespace, request.GET.get("job", ""))
    context = {**optimise_context(request, namespace), "run": search_context(namespace, job) if job else None}
    if htmx:
        return render_page(request, TEMPLATE, context, partial="run")
    data = (
        form_data_from_spec(SearchSpec.from_dict(job.params))
        if job and not request.GET.keys() - {"job"}
        else request.GET
    )
    context |= {**SearchForm(namespace, data).context(), "runs": other_searches(namespace, job)}
    return render_page(request, TEMPLATE, context)


@require_POST
@members_only
def start_search_job(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Start a search job; an invalid form is shown again as typed."""
    access = require_role(request, namespace, Role.WRITE)
    form = SearchForm(namespace, request.POST)
    try:
        job = tuning_jobs.submit_search_job(namespace, form.to_spec(), by=access.caller)
    except ValidationError as error:
        invalid = SearchForm(namespace, request.POST, search_form_errors(error))
        context = {
            **optimise_context(request, namespace),
            **invalid.context(),
            "run": None,
            "runs": other_searches(namespace, None),
        }
        return render_page(request, TEMPLATE, context, status=400)
    return redirect(f"{resolve_url('optimise', namespace.slug)}?job={job.id}")


@require_POST
@members_only
def stop_search_job(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Stop a search; it ends with the best so far."""
    require_role(request, namespace, Role.WRITE)
    job = require_search(namespace, id)
    cancel_job(job)
    return redirect(f"{resolve_url('optimise', namespace.slug)}?job={job.id}")


@require_POST
@members_only
def save_search_result(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Save a search's result as the next version of a profile; not served until published."""
    require_role(request, namespace, Role.WRITE)
    job = require_search(namespace, id)
    spec, chosen = SearchSpec.from_dict(job.params), job.result.get("search", {}).get("chosen")
    name = request.POST.get("name", "").strip()
    url = f"{resolve_url('optimise', namespace.slug)}?job={job.id}"
    if not chosen:
        messages.warning(request, "This search changed nothing, so there is nothing to save.")
        return redirect(url)
    if problem := profile_versions.profile_name_problem(name):
        messages.warning(request, problem)
        return redirect(url)
    version = profile_versions.add_profile_version(
        namespace,
        name=name,
        system=spec.config.system.name,
        params={**spec.config.given, **chosen},
        parent=spec.config.version_id,
        note=f"Found by a search of {job.result['search']['tried']} configurations. {search_verdict(job)}.",
        by=request.user.get_username(),
    )
    messages.success(
        request, f"Saved as {profile_versions.version_label(version)}. It is not served until it is published."
    )
    return redirect(url)


def optimise_context(request: HttpRequest, namespace: Namespace) -> dict[str, Any]:
    """Context of every partial."""
    access = access_of(request, namespace)
    return {
        "namespace": namespace,
        "may_write": access.allows(Role.WRITE),
    }


def selected_search(namespace: Namespace, id: str) -> Job | None:
    """The search named in the URL, else the latest; raises Http404."""
    if id:
        try:
            return require_search(namespace, UUID(id))
        except ValueError as error:
            raise Http404(f"There is no search {id} in this namespace.") from error
    return Job.objects.within(namespace).filter(kind=JobKind.OPTIMISE).order_by("created_at", "id").last()


def require_search(namespace: Namespace, id: UUID) -> Job:
    """A search of the namespace; raises Http404."""
    job = Job.objects.within(namespace).filter(id=id, kind=JobKind.OPTIMISE).select_related("namespace").first()
    if job is None:
        raise Http404(f"There is no search {id} in this namespace.")
    return job
