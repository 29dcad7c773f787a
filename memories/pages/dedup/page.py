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
from memories.pages.dedup import figures
from memories.pages.dedup.bands import FATES, sorted_out, tallies
from memories.pages.dedup.drafts import THRESHOLDS, thresholds
from memories.pages.dedup.listing import listed
from memories.pages.dedup.nearest import EXACT, SAMPLE
from memories.pages.dedup.reviews import queue
from memories.pages.dedup.survey import AT_ONCE, LASTING, Survey, known
from memories.pages.request_data import api_request
from memories.tuning.judged_pairs import MAX_PAIRS, load_judged_pairs, threshold_table
from memories.tuning.policy_drafts import find_policy_draft
from memories.web.layout import render_page
from memories.writing.write_policy import current_write_policy
from scoring.dedup import Band
from scoring.params import ParamProblem
from scoring.policy import WritePolicyParams


@require_GET
@members_only
def dedup(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Move the two thresholds, and see which memories they would make one."""
    return shown(request, namespace)


def shown(
    request: HttpRequest, namespace: Namespace, *, refused: Sequence[ParamProblem] = (), status: int = 200
) -> HttpResponse:
    """The page, or the part that changes where htmx asks; what was refused of a pair stands beside the queue."""
    access, served = access_of(request, namespace), current_write_policy(namespace)
    moved, problems = thresholds(request.GET, served)
    policy = served.with_values(**moved)
    survey = known(namespace, patient="compare" in request.GET)
    told, wrong = near(request, namespace, survey, policy, served) if survey else ({}, [])
    waiting, lost = queue(api_request(request), namespace)
    decided, version = load_judged_pairs(namespace), find_policy_draft(namespace, request.GET.get("draft", ""))
    # The address tells what differs, and nothing else.
    here = {
        **sliders.params_to_query(moved),
        **told.pop("address", {}),
        **({"draft": str(version.id)} if version else {}),
    }
    context = {
        "groups": [sliders.ParamGroup("Thresholds", handles(request, policy, served))],
        "chosen": policy.as_dict(),
        "set_for": served.thresholds_for,
        "moved": sliders.params_to_query(moved),
        "problems": [*problems, *wrong, *lost],
        "survey": survey,
        "limits": {
            "at_once": AT_ONCE,
            "sample": SAMPLE,
            "exact": EXACT,
            "minutes": LASTING.seconds // 60,
            "judged": MAX_PAIRS,
        },
        "queue": waiting,
        "refused": refused,
        "judged": decided,
        "table": threshold_table(decided, policy.dedup_duplicate, merge_cost=policy.merge_cost),
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
    request: HttpRequest, namespace: Namespace, survey: Survey, policy: WritePolicyParams, served: WritePolicyParams
) -> tuple[dict[str, Any], list[ParamProblem]]:
    """The bands under both policies, the histogram, and a page of the pairs of one band."""
    now, before = sorted_out(survey.pairs, policy), sorted_out(survey.pairs, served)
    usual: Band = next((name for name, some in now.items() if some), "distinct")
    asked = request.GET.get("band") or usual
    band = next((name for name in FATES if name == asked), usual)
    page, wrong = listed(namespace, now[band], request.GET.get("after", ""))
    if asked != band:
        wrong.append(ParamProblem("band", f"must be one of {', '.join(FATES)}; got {asked!r}"))
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
    def input_value(self) -> str:
        return self.text or super().input_value


def handles(request: HttpRequest, policy: WritePolicyParams, served: WritePolicyParams) -> list[sliders.Slider]:
    """Both thresholds as sliders, from their declaration."""
    declared = WritePolicyParams.declarations()
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
