"""Views of the Guards page: check an answer, try a statement, and move the guards' escape rates."""

from typing import Any
from urllib.parse import urlencode, urlsplit

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_http_methods

from memories.contracts.number_format import format_number
from memories.models import Namespace
from memories.pages import sliders
from memories.pages.access import access_of, members_only
from memories.pages.guards import charts, faithfulness_panel, forms, grounding_panel
from memories.pages.guards.guard_cascade import PARAM_GROUP, escape_headline, guard_cascade, guard_names
from memories.web.layout import render_page
from memories.web.roles import Access
from memories.writing.write_policy import current_write_policy
from scoring.faithfulness import escape_rate
from scoring.policy import WritePolicyParams

TEMPLATE = "memories/guards.html"
# By the name of the partial each renders.
ACTIONS = {"check": faithfulness_panel.check_submitted_answer, "try": grounding_panel.try_statement}


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def guards_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Show the guards, check an answer or try a statement; nothing submitted is stored."""
    access = access_of(request, namespace)
    if request.method == "POST":
        return run_guard_action(request, access)
    if not getattr(request, "htmx", False):
        return render_guards(request, access, {})
    context = escape_context(request.GET, current_write_policy(namespace))
    response = render_page(request, TEMPLATE, context, partial="escape")
    return replace_url_params(request, response, sliders.PREFIX, sliders.params_to_query(context["changed"]))


def run_guard_action(request: HttpRequest, access: Access) -> HttpResponse:
    """Run the form's action; htmx gets its partial with status 200, as it would not swap in an error."""
    action = request.POST.get("act", "")
    if action not in ACTIONS:
        raise Http404(f"There is no such act: choose one of {', '.join(ACTIONS)}.")
    context, status = ACTIONS[action](request, access)
    if not getattr(request, "htmx", False):
        return render_guards(request, access, context, status)
    response = render_page(request, TEMPLATE, {"namespace": access.namespace, **context}, partial=action)
    if action != "check":
        return response
    # The URL keeps the trace, never the answer: that is private to the sender.
    trace = request.POST.get("trace", "")
    return replace_url_params(request, response, "trace", {"trace": trace} if trace and status == 200 else {})


def render_guards(
    request: HttpRequest, access: Access, action_context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """The whole page."""
    namespace, policy = access.namespace, current_write_policy(access.namespace)
    data = request.POST if request.method == "POST" else request.GET
    context = {
        **escape_context(request.GET, policy),
        **grounding_panel.grounding_context(request, namespace, policy),
        **forms.statement_form_context(data, access),
        **forms.answer_form_context(namespace, data),
        **action_context,
    }
    return render_page(request, TEMPLATE, context, status=status)


def escape_context(data: QueryDict, policy: WritePolicyParams) -> dict[str, Any]:
    """The cascade under the query string's rates, and its sliders."""
    policy_values = policy.as_dict()
    parsed, problems = sliders.parse_valid_params(WritePolicyParams, data, policy_values)
    changed = {name: value for name, value in parsed.items() if name in guard_names()}
    values = {**policy_values, **changed}
    steps = guard_cascade(values, policy_values)
    groups = sliders.param_groups(WritePolicyParams, values, policy_values)
    return {
        "steps": steps,
        "escape_headline": escape_headline(steps),
        "product": " × ".join(format_number(step.rate) for step in steps),
        "rate": escape_rate([step.rate for step in steps]),
        "policy_rate": escape_rate([step.policy_rate for step in steps]),
        "figure": charts.escape_chart(steps),
        "label": charts.escape_chart_label(steps),
        "groups": [group for group in groups if group.name == PARAM_GROUP],
        "changed": changed,
        "problems": problems,
    }


def replace_url_params(
    request: HttpRequest, response: HttpResponse, prefix: str, params: dict[str, str]
) -> HttpResponse:
    """Replace the parameters with a prefix in the browser's URL, keeping the others."""
    current = QueryDict(urlsplit(request.headers.get("HX-Current-URL", "")).query)
    others = {name: value for name, value in current.items() if not name.startswith(prefix) and name != "example"}
    response["HX-Replace-Url"] = f"?{urlencode({**others, **params})}"
    return response
