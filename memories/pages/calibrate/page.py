"""Calibrate: who agrees, what was fitted to it, what that would change, and the next memory to annotate."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from memories.models import Namespace
from memories.models.choices import Role
from memories.pages import sliders
from memories.pages.access import access_of, members_only
from memories.pages.calibrate import figures
from memories.pages.calibrate.queue import Asked, asked
from memories.tuning.array_cache import cached_arrays
from memories.tuning.calibration import findings
from memories.tuning.calibration.annotated import MAX_ANNOTATIONS, SIGNALS
from memories.tuning.calibration.results import Calibration, calibrate
from memories.tuning.judgement_sets import UnknownJudgementSetError, choose_judgement_set
from memories.tuning.measurement import MAIN_METRIC, METRIC_NAMES
from memories.tuning.policy_drafts import find_policy_draft
from memories.tuning.profile_versions import MAX_NAME_LENGTH
from memories.tuning.rrf_sweep import sweep_config, sweep_rrf_k
from memories.tuning.traced_sets import latest_traced_set
from memories.web.layout import render_page
from memories.writing.recompute import preview_policy
from memories.writing.write_policy import current_write_policy
from scoring.params import ParamProblem
from scoring.policy import WritePolicyParams

COST = "merge_cost"
# What each part of an offer is called.
PARTS = {
    "preference": "the prior of Preference",
    "priors": "the priors of the types that annotators agree on",
    "weights": "the weights of confidence",
    "formal": "the weights for formal speech",
    "threshold": "the threshold of merging",
}


@require_GET
@members_only
def calibrate_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Annotate, see agreement move, and keep what follows from it."""
    version = find_policy_draft(namespace, request.GET.get("draft", "")) if "preview" in request.GET else None
    if version is not None:
        told = {"preview": preview_policy(namespace, WritePolicyParams.of(version.params)), "draft": version}
        return render_page(
            request, "memories/calibrate.html", {**told, **context(request, namespace)}, partial="change"
        )
    partial = "annotate" if request.headers.get("HX-Target") == "annotate" else "shown"
    return shown(request, namespace, partial=partial)


def shown(
    request: HttpRequest, namespace: Namespace, *, ask: Asked | None = None, partial: str = "shown", status: int = 200
) -> HttpResponse:
    """The page, or the part that changes where htmx asks."""
    told = {**context(request, namespace, ask), "beside": partial == "answered"}
    if not getattr(request, "htmx", False):
        told |= {"k": k_of(namespace), "longest": MAX_NAME_LENGTH}
    status = 200 if getattr(request, "htmx", False) else status  # htmx shows nothing of a refusal
    response = render_page(request, "memories/calibrate.html", told, partial=partial, status=status)
    response["HX-Replace-Url"] = f"{told['path']}?{told['here']}" if told["here"] else told["path"]
    return response


def context(request: HttpRequest, namespace: Namespace, ask: Asked | None = None) -> dict[str, Any]:
    """All that the page tells."""
    access, served = access_of(request, namespace), current_write_policy(namespace)
    chosen, problems = cost(request, served)
    found = calibrate(namespace, merge_cost=chosen.get(COST))
    version = find_policy_draft(namespace, request.GET.get("draft", ""))
    ask = ask or asked(request, namespace)
    # The address tells what differs, and nothing else.
    here: list[tuple[str, str]] = [*sliders.params_to_query(chosen).items(), *(("skip", id) for id in ask.skipped)]
    here += [("draft", str(version.id))] if version else []
    declared = sliders.Slider(COST, WritePolicyParams.declarations()[COST], found.policy.merge_cost, served.merge_cost)
    return {
        "found": found,
        "policy": found.policy.as_dict(),
        "findings": findings.calibration_findings(found),
        "offers": offered(found),
        "signals": weighed(found),
        "figure": figures.reliability(found.reliability),
        "label": figures.label(found.reliability),
        "groups": [sliders.ParamGroup("Cost", [declared])],
        "moved": sliders.params_to_query(chosen),
        "problems": problems,
        "ask": ask,
        "most": MAX_ANNOTATIONS,
        "draft": version,
        "writes": access.allows(Role.WRITE),
        "admin": access.allows(Role.ADMIN),
        "here": urlencode(here),
        "path": reverse("calibrate", args=[namespace.slug]),
    }


def cost(request: HttpRequest, served: WritePolicyParams) -> tuple[dict[str, float], list[ParamProblem]]:
    """What the address says of the cost of a false merge, or what is wrong with it."""
    said, wrong = sliders.parse_valid_params(WritePolicyParams, request.GET, served.as_dict())
    problems = [ParamProblem(at, message) for at, message in wrong.items()]
    return {name: value for name, value in said.items() if name == COST}, problems


def offered(found: Calibration) -> list[dict[str, Any]]:
    """What can be kept, each part with its parameters before and after."""
    served = found.policy.as_dict()
    return [
        {"part": part, "title": PARTS[part], "moves": [(name, served[name], to) for name, to in change.items()]}
        for part, change in findings.proposed_changes(found).items()
    ]


def weighed(found: Calibration) -> list[tuple[str, float, float, float]]:
    """Each signal with its weight before and after, and the difference."""
    if found.weights is None:
        return []
    pairs = zip(SIGNALS, found.weights.served.values(), found.weights.fitted.values(), strict=True)
    return [(name, served, fitted, fitted - served) for name, served, fitted in pairs]


def k_of(namespace: Namespace) -> dict[str, Any]:
    """The sweep of k on judged queries: what came of it, or what it still needs."""
    try:
        judged = choose_judgement_set(namespace)
    except UnknownJudgementSetError:
        return {}
    start = sweep_config(namespace)
    asked, whole = {"set": judged.name, "by": start.label, "part": "all"}, latest_traced_set(namespace, judged, start)
    told = {"judged": judged, "swept": start, "tune": urlencode(asked), "metric": METRIC_NAMES[MAIN_METRIC]}
    return told | ({"sweep": sweep_rrf_k(cached_arrays(whole), start)} if whole else {})
