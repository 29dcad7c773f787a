"""The page: three guards, each with something to try."""

from typing import Any
from urllib.parse import urlencode, urlsplit

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_http_methods

from memories.models import Namespace
from memories.pages import sliders
from memories.pages.access import access_of, members_only
from memories.pages.guards import answers, escape, grounding
from memories.web.layout import render_page
from memories.web.roles import Access
from memories.writing.write_policy import current_write_policy

TEMPLATE = "memories/guards.html"
ACTS = {"check": answers.check, "try": grounding.dry_run}


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def guards(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Show the guards, check an answer or try a statement; nothing that is sent is kept."""
    access = access_of(request, namespace)
    if request.method == "POST":
        return acted(request, access)
    if not getattr(request, "htmx", False):
        return whole(request, access, {})
    context = escape.shown(request.GET, current_write_policy(namespace))
    response = render_page(request, TEMPLATE, context, partial="escape")
    return moved_to(request, response, sliders.PREFIX, sliders.params_to_query(context["moved"]))


def acted(request: HttpRequest, access: Access) -> HttpResponse:
    """What came of an act: by itself for htmx, which shows nothing of a refusal, else within the page."""
    act = request.POST.get("act", "")
    if act not in ACTS:
        raise Http404(f"There is no such act: choose one of {', '.join(ACTS)}.")
    context, status = ACTS[act](request, access)
    if not getattr(request, "htmx", False):
        return whole(request, access, context, status)
    response = render_page(request, TEMPLATE, {"namespace": access.namespace, **context}, partial=act)
    if act != "check":
        return response
    # The trace is short enough for an address; the answer is nobody's but the sender's.
    named = {"trace": trace} if (trace := request.POST.get("trace", "")) and status == 200 else {}
    return moved_to(request, response, "trace", named)


def whole(request: HttpRequest, access: Access, more: dict[str, Any], status: int = 200) -> HttpResponse:
    """The page with all its parts."""
    namespace, policy = access.namespace, current_write_policy(access.namespace)
    sent = request.POST if request.method == "POST" else request.GET
    context = {
        **escape.shown(request.GET, policy),
        **grounding.shown(request, namespace, policy),
        **grounding.form(sent, access),
        **answers.form(namespace, sent),
        **more,
    }
    return render_page(request, TEMPLATE, context, status=status)


def moved_to(request: HttpRequest, response: HttpResponse, prefix: str, told: dict[str, str]) -> HttpResponse:
    """Let the address tell what changed, beside what it tells already."""
    here = QueryDict(urlsplit(request.headers.get("HX-Current-URL", "")).query)
    kept = {name: value for name, value in here.items() if not name.startswith(prefix) and name != "example"}
    response["HX-Replace-Url"] = f"?{urlencode({**kept, **told})}"
    return response
