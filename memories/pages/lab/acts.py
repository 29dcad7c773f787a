"""What a person does in the Lab that is kept: grades, and parameters saved as a profile."""

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
from memories.pages.access import demanded, members_only
from memories.pages.lab import address, judging, markup
from memories.retrieval.tracing import setting_of
from memories.tuning import profiles
from recall_site.layout import render_page

GRADES = range(4)


@require_POST
@members_only
def judge(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Grade one hit of a question; the page shows the grade it kept."""
    demanded(request, namespace, Role.WRITE)
    trace = trace_of(namespace, request.POST)
    memory, _, grade = request.POST.get("grade", "").partition(" ")
    if not grade.isdecimal() or int(grade) not in GRADES:
        return refused(request, f"grade must be a memory and a grade from {GRADES[0]} to {GRADES[-1]}; got {grade!r}")
    id = memory_of(namespace, memory)
    judging.judge(trace, id, int(grade), by=request.user.get_username())
    if getattr(request, "htmx", False):
        return HttpResponse(markup.judge(id, int(grade), swapped=True))
    return HttpResponseRedirect(f"{resolve_url('lab', namespace.slug)}?{back(request)}")


@require_POST
@members_only
def save(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Keep the parameters as the next version of a profile, and show the question ranked by it."""
    demanded(request, namespace, Role.WRITE)
    trace = trace_of(namespace, request.POST)
    name = request.POST.get("name", "").strip()
    if wrong := profiles.flaw(name):
        return refused(request, f"name {wrong}")
    start = setting_of(trace)
    usual = {**trace.plan["params"], **start.given}
    changed, problems = sliders.moved(start.system.params, request.POST, usual)
    if problems:
        return refused(request, "; ".join(f"{at} {message}" for at, message in problems.items()))
    version = profiles.add_version(
        namespace,
        name=name,
        system=start.system.name,
        params={**start.given, **changed},
        parent=start.version_id,
        note=f"Saved in the Lab for “{trace.query[:200]}”.",
        by=request.user.get_username(),
    )
    called, page = profiles.called(version), resolve_url("profiles-one", namespace.slug, version.id)
    told = format_html('Kept as <a href="{}">{}</a>. It serves nobody until it is published.', page, called)
    messages.success(request, told)
    typed = {**address.typed_of(trace), "by": called}
    return HttpResponseRedirect(f"{resolve_url('lab', namespace.slug)}?{address.written(typed, {}, {})}")


def trace_of(namespace: Namespace, sent: QueryDict) -> Trace:
    """The question that is meant."""
    trace = address.trace_of(namespace, sent)
    if trace is None:
        raise Http404("That trace is not kept here.")
    return trace


def memory_of(namespace: Namespace, named: str) -> UUID:
    """The memory that is meant, if it is here."""
    try:
        id = UUID(named)
    except ValueError as error:
        raise Http404(f"There is no memory {named} here.") from error
    if not Memory.objects.within(namespace).filter(id=id).exists():
        raise Http404(f"There is no memory {named} here.")
    return id


def back(request: HttpRequest) -> str:
    """The state a form was sent from, as a query string and nothing else."""
    return QueryDict(request.POST.get("here", "")).urlencode()


def refused(request: HttpRequest, why: str) -> HttpResponse:
    """What was wrong, on a page of its own."""
    context: dict[str, Any] = {"why": why, "back": request.headers.get("Referer", "")}
    return render_page(request, "memories/lab_refused.html", context, status=400)
