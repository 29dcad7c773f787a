"""Dedup: the nearest pairs under two thresholds, side by side; what waits for a person, and what was judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from memories.models import Namespace
from memories.models.choices import Role
from memories.pages import sliders
from memories.pages.access import access_of, members_only
from memories.pages.addresses import complete
from memories.pages.dedup import figures
from memories.pages.dedup.bands import FATES, sorted_out, tallies
from memories.pages.dedup.drafts import THRESHOLDS, thresholds
from memories.pages.dedup.listing import listed
from memories.pages.dedup.nearest import EXACT, SAMPLE
from memories.pages.dedup.reviews import queue
from memories.pages.dedup.survey import AT_ONCE, LASTING, Survey, known
from memories.tuning.drafts import draft
from memories.tuning.judged_pairs import MOST, judged, table
from memories.writing.policy import policy_of
from recall_site.layout import render_page
from scoring.dedup import Band
from scoring.params import Problem
from scoring.policy import WritePolicy


@require_GET
@members_only
def dedup(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Move the two thresholds, and see which memories they would make one."""
    return shown(request, namespace)


def shown(
    request: HttpRequest, namespace: Namespace, *, refused: Sequence[Problem] = (), status: int = 200
) -> HttpResponse:
    """The page, or the part that changes where htmx asks; what was refused of a pair stands beside the queue."""
    access, served = access_of(request, namespace), policy_of(namespace)
    moved, problems = thresholds(request.GET, served)
    policy = served.but(**moved)
    survey = known(namespace, patient="compare" in request.GET)
    told, wrong = near(request, namespace, survey, policy, served) if survey else ({}, [])
    waiting, lost = queue(complete(request), namespace)
    decided, version = judged(namespace), draft(namespace, request.GET.get("draft", ""))
    # The address tells what differs, and nothing else.
    here = {**sliders.address(moved), **told.pop("address", {}), **({"draft": str(version.id)} if version else {})}
    context = {
        "groups": [sliders.Group("Thresholds", handles(request, policy, served))],
        "chosen": policy.as_dict(),
        "set_for": served.thresholds_for,
        "moved": sliders.address(moved),
        "problems": [*problems, *wrong, *lost],
        "survey": survey,
        "limits": {
            "at_once": AT_ONCE,
            "sample": SAMPLE,
            "exact": EXACT,
            "minutes": LASTING.seconds // 60,
            "judged": MOST,
        },
        "queue": waiting,
        "refused": refused,
        "judged": decided,
        "table": table(decided, policy.dedup_duplicate, merge_cost=policy.merge_cost),
        "draft": version,
        "writes": access.allows(Role.WRITE),
        "admin": access.allows(Role.ADMIN),
        "foreign": served.thresholds_for not in (namespace.embedder, "other"),
        "here": urlencode(here),
        "path": request.path,
        **told,
    }
    status = 200 if getattr(request, "htmx", False) else status  # htmx shows nothing of a refusal
    response = render_page(request, "memories/dedup.html", context, partial="shown", status=status)
    response["HX-Replace-Url"] = f"{request.path}?{urlencode(here)}" if here else request.path
    return response


def near(
    request: HttpRequest, namespace: Namespace, survey: Survey, policy: WritePolicy, served: WritePolicy
) -> tuple[dict[str, Any], list[Problem]]:
    """The bands under both policies, the histogram, and a page of the pairs of one band."""
    now, before = sorted_out(survey.pairs, policy), sorted_out(survey.pairs, served)
    usual: Band = next((name for name, some in now.items() if some), "distinct")
    asked = request.GET.get("band") or usual
    band = next((name for name in FATES if name == asked), usual)
    page, wrong = listed(namespace, now[band], request.GET.get("after", ""))
    if asked != band:
        wrong.append(Problem("band", f"must be one of {', '.join(FATES)}; got {asked!r}"))
    told = {
        "tallies": tallies(now, before),
        "band": band,
        "fate": FATES[band],
        "page": page,
        "figure": figures.histogram(now, policy, served),
        "bins": figures.bins((pair.near.cosine for pair in survey.pairs), figures.WIDE),
        "address": {"band": band} if band != usual else {},
    }
    return told, wrong


@dataclass(frozen=True)
class Handle(sliders.Slider):
    """A threshold that stays as it was typed, even where it cannot be used."""

    text: str = ""

    @property
    def typed(self) -> str:
        return self.text or super().typed


def handles(request: HttpRequest, policy: WritePolicy, served: WritePolicy) -> list[sliders.Slider]:
    """Both thresholds as sliders, from their declaration."""
    declared = WritePolicy.declared()
    return [
        Handle(
            name,
            declared[name],
            getattr(policy, name),
            getattr(served, name),
            text=request.GET.get(f"{sliders.PREFIX}{name}", ""),
        )
        for name in THRESHOLDS
    ]
