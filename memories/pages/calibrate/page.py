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
from memories.tuning.calibrating import findings
from memories.tuning.calibrating.calibrate import Calibration, calibrate
from memories.tuning.calibrating.ground import MOST, SIGNALS
from memories.tuning.drafts import draft
from memories.tuning.evaluating import MAIN, NAMES
from memories.tuning.holding import arrays
from memories.tuning.profiles import LONGEST_NAME
from memories.tuning.sets import UnknownSetError, chosen_set
from memories.tuning.sweeping import sweep, swept_setting
from memories.tuning.tracing import traced
from memories.writing.policy import policy_of
from memories.writing.recomputing import preview
from recall_site.layout import render_page
from scoring.params import Problem
from scoring.policy import WritePolicy

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
    version = draft(namespace, request.GET.get("draft", "")) if "preview" in request.GET else None
    if version is not None:
        told = {"preview": preview(namespace, WritePolicy.of(version.params)), "draft": version}
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
        told |= {"k": k_of(namespace), "longest": LONGEST_NAME}
    status = 200 if getattr(request, "htmx", False) else status  # htmx shows nothing of a refusal
    response = render_page(request, "memories/calibrate.html", told, partial=partial, status=status)
    response["HX-Replace-Url"] = f"{told['path']}?{told['here']}" if told["here"] else told["path"]
    return response


def context(request: HttpRequest, namespace: Namespace, ask: Asked | None = None) -> dict[str, Any]:
    """All that the page tells."""
    access, served = access_of(request, namespace), policy_of(namespace)
    chosen, problems = cost(request, served)
    found = calibrate(namespace, merge_cost=chosen.get(COST))
    version = draft(namespace, request.GET.get("draft", ""))
    ask = ask or asked(request, namespace)
    # The address tells what differs, and nothing else.
    here: list[tuple[str, str]] = [*sliders.address(chosen).items(), *(("skip", id) for id in ask.skipped)]
    here += [("draft", str(version.id))] if version else []
    declared = sliders.Slider(COST, WritePolicy.declared()[COST], found.policy.merge_cost, served.merge_cost)
    return {
        "found": found,
        "policy": found.policy.as_dict(),
        "findings": findings.found(found),
        "offers": offered(found),
        "signals": weighed(found),
        "figure": figures.reliability(found.reliability),
        "label": figures.label(found.reliability),
        "groups": [sliders.Group("Cost", [declared])],
        "moved": sliders.address(chosen),
        "problems": problems,
        "ask": ask,
        "most": MOST,
        "draft": version,
        "writes": access.allows(Role.WRITE),
        "admin": access.allows(Role.ADMIN),
        "here": urlencode(here),
        "path": reverse("calibrate", args=[namespace.slug]),
    }


def cost(request: HttpRequest, served: WritePolicy) -> tuple[dict[str, float], list[Problem]]:
    """What the address says of the cost of a false merge, or what is wrong with it."""
    said, wrong = sliders.moved(WritePolicy, request.GET, served.as_dict())
    problems = [Problem(at, message) for at, message in wrong.items()]
    return {name: value for name, value in said.items() if name == COST}, problems


def offered(found: Calibration) -> list[dict[str, Any]]:
    """What can be kept, each part with its parameters before and after."""
    served = found.policy.as_dict()
    return [
        {"part": part, "title": PARTS[part], "moves": [(name, served[name], to) for name, to in change.items()]}
        for part, change in findings.offers(found).items()
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
        judged = chosen_set(namespace)
    except UnknownSetError:
        return {}
    start = swept_setting(namespace)
    asked, whole = {"set": judged.name, "by": start.by, "part": "all"}, traced(namespace, judged, start)
    told = {"judged": judged, "swept": start, "tune": urlencode(asked), "metric": NAMES[MAIN]}
    return told | ({"sweep": sweep(arrays(whole), start)} if whole else {})
