"""The Lab's writes: relevance grades, and parameters saved as a profile version."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import resolve_url
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from memories.models import Memory, Namespace, Trace
from memories.models.choices import Role
from memories.pages import sliders
from memories.pages.access import members_only, require_role
from memories.pages.lab import forms, grades, markup
from memories.retrieval.trace import config_from_trace
from memories.tuning import profile_versions
from memories.tuning.parsed_judgements import GRADES
from memories.web.layout import render_page
from scoring.params import ParamsError


@require_POST
@members_only
def grade_hit(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Store the grade of one hit; htmx gets its buttons back."""
    require_role(request, namespace, Role.WRITE)
    trace = require_trace(namespace, request.POST)
    memory, _, grade = request.POST.get("grade", "").partition(" ")
    if not grade.isdecimal() or int(grade) not in GRADES:
        return render_lab_refusal(
            request, f"grade must be a memory and a grade from {GRADES[0]} to {GRADES[-1]}; got {grade!r}"
        )
    id = require_memory_id(namespace, memory)
    grades.store_grade(trace, id, int(grade), by=request.user.get_username())
    if getattr(request, "htmx", False):
        return HttpResponse(markup.grade_buttons_html(id, int(grade), out_of_band=True))
    return HttpResponseRedirect(f"{resolve_url('lab', namespace.slug)}?{return_query_string(request)}")


@require_POST
@members_only
def save_lab_profile(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Save the parameters as the next version of a profile and rerun the query with it."""
    require_role(request, namespace, Role.WRITE)
    trace = require_trace(namespace, request.POST)
    name = request.POST.get("name", "").strip()
    if problem := profile_versions.profile_name_problem(name):
        return render_lab_refusal(request, f"name {problem}")
    start = config_from_trace(trace)
    start_params = {**trace.plan["params"], **start.given}
    changed, problems = sliders.parse_valid_params(start.system.params, request.POST, start_params)
    if problems:
        return render_lab_refusal(request, str(ParamsError(problems)))
    version = profile_versions.add_profile_version(
        namespace,
        name=name,
        system=start.system.name,
        params={**start.given, **changed},
        parent=start.version_id,
        note=f"Saved in the Lab for “{trace.query[:200]}”.",
        by=request.user.get_username(),
    )
    label, page = profile_versions.version_label(version), resolve_url("profiles-one", namespace.slug, version.id)
    message = format_html('Saved as <a href="{}">{}</a>. It is not served until it is published.', page, label)
    messages.success(request, message)
    raw = {**forms.form_values_from_trace(trace), "by": label}
    return HttpResponseRedirect(f"{resolve_url('lab', namespace.slug)}?{forms.lab_query_string(raw, {}, {})}")


def require_trace(namespace: Namespace, data: QueryDict) -> Trace:
    """The trace that the form names; raises Http404."""
    trace = forms.find_trace(namespace, data)
    if trace is None:
        raise Http404("There is no such trace in this namespace.")
    return trace


def require_memory_id(namespace: Namespace, memory_id: str) -> UUID:
    """The id of a memory of this namespace; raises Http404."""
    try:
        id = UUID(memory_id)
    except ValueError as error:
        raise Http404(f"There is no memory {memory_id} in this namespace.") from error
    if not Memory.objects.within(namespace).filter(id=id).exists():
        raise Http404(f"There is no memory {memory_id} in this namespace.")
    return id


def return_query_string(request: HttpRequest) -> str:
    """The page state that a form was sent from; re-encoded, so that it can only be a query string."""
    return QueryDict(request.POST.get("here", "")).urlencode()


def render_lab_refusal(request: HttpRequest, reason: str) -> HttpResponse:
    """A 400 page with the reason."""
    context: dict[str, Any] = {"reason": reason, "back": request.headers.get("Referer", "")}
    return render_page(request, "memories/lab_refused.html", context, status=400)
