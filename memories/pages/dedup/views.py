"""Views of the Dedup page: move the thresholds, decide pairs of the review queue, save a draft."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, resolve_url
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_GET, require_POST
from rest_framework.exceptions import ValidationError

from memories.contracts.number_format import format_number
from memories.models import Namespace
from memories.models.choices import Role, Verdict
from memories.pages import sliders
from memories.pages.access import access_of, members_only, require_role
from memories.pages.dedup import charts, forms
from memories.pages.dedup.neighbour_pairs import MAX_EXACT, SAMPLE_SIZE
from memories.pages.dedup.pair_list import list_pairs
from memories.pages.dedup.pair_survey import MAX_IMMEDIATE, SAMPLE_MAX_AGE, PairSurvey, find_survey
from memories.pages.dedup.review_panel import load_review_panel, queue_pair_sample
from memories.pages.dedup.similarity_bands import BAND_OUTCOMES, band_tallies, bands_headline, group_by_band
from memories.pages.policy_publishing import publish_policy_draft
from memories.pages.request_data import api_request, request_for_page
from memories.tuning.judged_pairs import MAX_PAIRS, JudgedPairs, ThresholdRow, load_judged_pairs, threshold_table
from memories.tuning.policy_drafts import find_policy_draft, save_policy_draft
from memories.web.layout import render_page
from memories.web.review_items import DecisionSerializer
from memories.web.serializers import valid_values
from memories.web.validation_errors import validation_problems
from memories.writing.review import decide_review
from memories.writing.write_errors import NotFoundError, RefusedError
from memories.writing.write_policy import current_write_policy, has_foreign_thresholds
from scoring.dedup import Band
from scoring.params import ParamProblem, ParamsError
from scoring.policy import WritePolicyParams

TEMPLATE = "memories/dedup.html"
QUEUE_TAG = "queue"  # messages shown beside the review queue
VERDICT_MESSAGES = {
    Verdict.DUPLICATE: "Merged: one absorbed the other, and can be split from it again.",
    Verdict.DISTINCT: "Both stay, and the pair is decided.",
    Verdict.CONTRADICTION: "Marked as contradicting each other: both lost belief.",
}


@require_GET
@members_only
def dedup_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The nearest pairs under the thresholds of the query string."""
    return render_dedup(request, namespace)


def render_dedup(
    request: HttpRequest, namespace: Namespace, *, refusals: Sequence[ParamProblem] = (), status: int = 200
) -> HttpResponse:
    """The whole page, or its changing part for htmx; `refusals` of a verdict are shown beside the queue."""
    access, serving = access_of(request, namespace), current_write_policy(namespace)
    changed, problems = forms.parse_thresholds(request.GET, serving)
    policy = serving.with_values(**changed)
    survey = find_survey(namespace, wait="compare" in request.GET)
    pairs_context, pair_problems = pair_panel_context(request, namespace, survey, serving, changed)
    queue, queue_problems = load_review_panel(api_request(request), namespace)
    judged, draft = load_judged_pairs(namespace), find_policy_draft(namespace, request.GET.get("draft", ""))
    table = threshold_table(judged, policy.dedup_duplicate, merge_cost=policy.merge_cost)
    # The URL holds only what differs from the defaults.
    here = {
        **sliders.params_to_query(changed),
        **pairs_context.pop("query", {}),
        **({"draft": str(draft.id)} if draft else {}),
    }
    context = {
        "groups": [sliders.ParamGroup("Thresholds", forms.threshold_sliders(request.GET, policy, serving))],
        "thresholds_text": forms.thresholds_text(policy),
        "thresholds_for": serving.thresholds_for,
        "foreign_thresholds": has_foreign_thresholds(namespace, serving),
        "changed": sliders.params_to_query(changed),
        "problems": [*problems, *pair_problems, *queue_problems],
        "survey": survey,
        "max_immediate": MAX_IMMEDIATE,
        "max_exact": MAX_EXACT,
        "sample_size": SAMPLE_SIZE,
        "sample_minutes": SAMPLE_MAX_AGE.seconds // 60,
        "queue": queue,
        "refusals": refusals,
        "judged": judged,
        "judged_capped": len(judged) == MAX_PAIRS,
        "table": table,
        "errors_headline": dedup_errors_headline(judged, table),
        "draft": draft,
        "draft_text": forms.thresholds_text(WritePolicyParams.of(draft.params)) if draft else "",
        "may_write": access.allows(Role.WRITE),
        "may_admin": access.allows(Role.ADMIN),
        "here": urlencode(here),
        "path": request.path,
        **pairs_context,
    }
    response = render_page(request, TEMPLATE, context, partial="shown", status=status)
    response["HX-Replace-Url"] = f"{request.path}?{urlencode(here)}" if here else request.path
    return response


def pair_panel_context(
    request: HttpRequest,
    namespace: Namespace,
    survey: PairSurvey | None,
    serving: WritePolicyParams,
    changed: Mapping[str, float],
) -> tuple[dict[str, Any], list[ParamProblem]]:
    """The bands, the histogram, and one page of a band's pairs."""
    if survey is None:
        return {}, []
    policy = serving.with_values(**changed)
    bands = group_by_band(survey.pairs, policy)
    tallies = band_tallies(bands, group_by_band(survey.pairs, serving), policy)
    default: Band = next((band for band, pairs in bands.items() if pairs), "distinct")
    requested = request.GET.get("band") or default
    band = next((band for band in BAND_OUTCOMES if band == requested), default)
    page, problems = list_pairs(namespace, bands[band], request.GET.get("after", ""))
    if requested != band:
        problems.append(ParamProblem("band", f"must be one of {', '.join(BAND_OUTCOMES)}; got {requested!r}"))
    context = {
        "tallies": tallies,
        "tabs": [(tally, urlencode({**sliders.params_to_query(changed), "band": tally.band})) for tally in tallies],
        "bands_headline": bands_headline(tallies),
        "band": next(tally for tally in tallies if tally.band == band),
        "page": page,
        "figure": charts.cosine_histogram(bands, policy, serving),
        "bins": charts.cosine_bins((pair.cosine for pair in survey.pairs), charts.TABLE_STEP),
        "query": {"band": band} if band != default else {},
    }
    return context, problems


def dedup_errors_headline(judged: JudgedPairs, table: Sequence[ThresholdRow]) -> str:
    """The errors at the current threshold."""
    if not len(judged):
        return "No pair was judged here yet"
    current = next(row for row in table if row.current)
    distinct = f"{current.false_merges} of {judged.others} distinct pair{pluralize(judged.others)}"
    duplicate = f"{current.missed_duplicates} of {judged.duplicates} duplicate{pluralize(judged.duplicates)}"
    return f"At {format_number(current.threshold, 2)}, the cosine alone would merge {distinct} and miss {duplicate}"


@require_POST
@members_only
def decide_pair(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Decide a pair of the review queue as the API does."""
    access = require_role(request, namespace, Role.WRITE)
    here = QueryDict(request.POST.get("here", ""))
    refusals, status = list[ParamProblem](), 200
    try:
        body = valid_values(DecisionSerializer(data={"verdict": request.POST.get("verdict", "")}))
        verdict = Verdict(body["verdict"])
        decide_review(namespace, id, verdict, by=access.caller)
        messages.success(request, VERDICT_MESSAGES[verdict], extra_tags=QUEUE_TAG)
    except NotFoundError as error:
        raise Http404(str(error)) from error
    except ValidationError as error:
        refusals, status = validation_problems(error), 400
    except RefusedError as error:
        refusals, status = [ParamProblem("", str(error))], 409
    path = resolve_url("dedup", namespace.slug)
    if refusals or getattr(request, "htmx", False):
        return render_dedup(request_for_page(request, path, here), namespace, refusals=refusals, status=status)
    return HttpResponseRedirect(f"{path}?{here.urlencode()}#queue")


@require_POST
@members_only
def sample_pairs(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Add a sample of pairs over all cosines to the review queue."""
    require_role(request, namespace, Role.WRITE)
    if count := queue_pair_sample(namespace):
        message = f"{count} pair{pluralize(count)} added to the queue, sampled over all cosines."
        messages.success(request, message, extra_tags=QUEUE_TAG)
    else:
        messages.warning(request, "Every near pair has been reviewed already.", extra_tags=QUEUE_TAG)
    return HttpResponseRedirect(f"{resolve_url('dedup', namespace.slug)}#queue")


@require_POST
@members_only
def save_threshold_draft(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Save the thresholds as a draft of the write policy."""
    access, serving = require_role(request, namespace, Role.ADMIN), current_write_policy(namespace)
    changed, problems = forms.parse_thresholds(request.POST, serving)
    if problems:
        messages.warning(request, f"Nothing was saved: {ParamsError(problems)}.")
        return redirect("dedup", namespace.slug)
    if not changed:
        messages.warning(request, "Nothing was saved: both thresholds have their current values.")
        return redirect("dedup", namespace.slug)
    note = f"Dedup: {forms.thresholds_text(serving.with_values(**changed))}."
    version = save_policy_draft(namespace, changed, note=note, by=access.caller)
    query_string = urlencode({**sliders.params_to_query(changed), "draft": str(version.id)})
    return HttpResponseRedirect(f"{resolve_url('dedup', namespace.slug)}?{query_string}#draft")


@require_POST
@members_only
def publish_threshold_draft(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Publish a draft of the write policy."""
    version = publish_policy_draft(request, namespace, id)
    thresholds = forms.thresholds_text(WritePolicyParams.of(version.params))
    messages.success(request, f"Version {version.number} of {version.policy.name} is now in force: {thresholds}.")
    return redirect("dedup", namespace.slug)
