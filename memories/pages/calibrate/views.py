"""Views of the Calibrate page: annotate memories, see what was fitted to them, and save it as a draft."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, resolve_url
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from rest_framework.exceptions import ValidationError

from memories.contracts.json_lines import LineReader
from memories.models import Namespace
from memories.models.choices import Role
from memories.pages import sliders
from memories.pages.access import access_of, members_only, require_role
from memories.pages.calibrate import charts, forms
from memories.pages.calibrate.annotation_task import AnnotationTask, annotation_task, annotator_name
from memories.pages.calibrate.calibration_summary import CalibrationSummary
from memories.pages.calibrate.rrf_k_panel import RRFKPanel, save_best_rrf_k
from memories.pages.policy_publishing import publish_and_recompute
from memories.pages.request_data import request_for_page
from memories.tuning import policy_drafts
from memories.tuning.annotation_records import annotate
from memories.tuning.calibration.findings import calibration_findings, proposed_changes
from memories.tuning.calibration.results import calibrate
from memories.tuning.policy_drafts import find_policy_draft
from memories.tuning.profile_versions import MAX_NAME_LENGTH
from memories.web.layout import render_page
from memories.web.validation_errors import flatten_errors, validation_problems
from memories.writing.recompute import preview_policy
from memories.writing.write_errors import NotFoundError
from memories.writing.write_policy import current_write_policy
from scoring.params import ParamProblem
from scoring.policy import PRESETS, WritePolicyParams

TEMPLATE = "memories/calibrate.html"


@require_GET
@members_only
def calibrate_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The calibration and the next memory to annotate; with `preview`, the effect of a draft."""
    version = find_policy_draft(namespace, request.GET.get("draft", "")) if "preview" in request.GET else None
    if version is not None:
        preview = preview_policy(namespace, WritePolicyParams.of(version.params))
        context = {"preview": preview, **calibrate_context(request, namespace)}
        return render_page(request, TEMPLATE, context, partial="change")
    partial = "annotate" if request.headers.get("HX-Target") == "annotate" else "shown"
    return render_calibrate(request, namespace, partial=partial)


def render_calibrate(
    request: HttpRequest,
    namespace: Namespace,
    *,
    task: AnnotationTask | None = None,
    partial: str = "shown",
    status: int = 200,
) -> HttpResponse:
    """The whole page, or one partial for htmx."""
    context = {**calibrate_context(request, namespace, task), "oob": partial == "answered"}
    if not getattr(request, "htmx", False):
        context |= {"k_panel": RRFKPanel.load(namespace), "max_name_length": MAX_NAME_LENGTH}
    response = render_page(request, TEMPLATE, context, partial=partial, status=status)
    response["HX-Replace-Url"] = f"{context['path']}?{context['here']}" if context["here"] else context["path"]
    return response


def calibrate_context(request: HttpRequest, namespace: Namespace, task: AnnotationTask | None = None) -> dict[str, Any]:
    """The context of the page, without the RRF k sweep."""
    access, serving = access_of(request, namespace), current_write_policy(namespace)
    changed, problems = forms.parse_merge_cost(request.GET, serving)
    calibration = calibrate(namespace, merge_cost=changed.get(forms.MERGE_COST))
    draft = find_policy_draft(namespace, request.GET.get("draft", ""))
    task = task or annotation_task(request, namespace)
    # The URL holds only what differs from the defaults.
    here: list[tuple[str, str]] = [*sliders.params_to_query(changed).items(), *(("skip", id) for id in task.skipped)]
    here += [("draft", str(draft.id))] if draft else []
    return {
        "calibration": calibration,
        "summary": CalibrationSummary(calibration),
        "policy": calibration.policy.as_dict(),
        "findings": calibration_findings(calibration),
        "figure": charts.reliability_chart(calibration.reliability),
        "label": charts.reliability_label(calibration.reliability),
        "groups": [sliders.ParamGroup("Cost", [forms.merge_cost_slider(calibration.policy, serving)])],
        "changed": sliders.params_to_query(changed),
        "presets": forms.preset_rows(serving),
        "problems": problems,
        "task": task,
        "draft": draft,
        "may_write": access.allows(Role.WRITE),
        "may_admin": access.allows(Role.ADMIN),
        "here": urlencode(here),
        "path": reverse("calibrate", args=[namespace.slug]),
    }


@require_POST
@members_only
def annotate_memory(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Store a member's annotation, and show the next memory."""
    require_role(request, namespace, Role.WRITE)
    problems = list[ParamProblem]()
    try:
        body = forms.annotation_request_body(request.POST, annotator_name(request))
        annotate(namespace, [forms.annotation_from_body(body)])
    except ValidationError as error:
        problems = validation_problems(error)
    except NotFoundError as error:
        problems = [ParamProblem("memory", str(error))]
    here, path = QueryDict(request.POST.get("here", "")), resolve_url("calibrate", namespace.slug)
    if not problems and not getattr(request, "htmx", False):
        return HttpResponseRedirect(f"{path}?{here.urlencode()}")
    page_request = request_for_page(request, path, here)
    typed = request.POST.dict() if problems else None
    task = annotation_task(page_request, namespace, typed=typed, problems=problems)
    return render_calibrate(page_request, namespace, task=task, partial="answered", status=400 if problems else 200)


@require_POST
@members_only
def import_annotations(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Store the annotations of a file, one per line; all or none."""
    require_role(request, namespace, Role.WRITE)
    file = request.FILES.get("file")
    if file is None:
        messages.warning(request, "Nothing was saved: choose a file with one annotation per line.")
        return redirect("calibrate", namespace.slug)
    try:
        stored = annotate(namespace, list(forms.read_annotation_file(LineReader(file))))
        messages.success(request, f"Annotations added: {stored.added}; replaced: {stored.replaced}.")
    except ValidationError as error:
        first = next(iter(flatten_errors(error.detail)))
        messages.warning(request, f"Nothing was saved: {first['at']} {first['message']}.")
    except NotFoundError as error:
        messages.warning(request, f"Nothing was saved: {error}")
    return redirect("calibrate", namespace.slug)


@require_POST
@members_only
def save_calibration_draft(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Save the chosen parts of a calibration as a draft of the write policy."""
    access = require_role(request, namespace, Role.ADMIN)
    changed, problems = forms.parse_merge_cost(request.POST, current_write_policy(namespace))
    proposals = proposed_changes(calibrate(namespace, merge_cost=changed.get(forms.MERGE_COST)))
    chosen = request.POST.getlist("part")
    if refusal := forms.draft_refusal(chosen, proposals, problems):
        messages.warning(request, f"Nothing was saved: {refusal}.")
        return redirect("calibrate", namespace.slug)
    parts = [part for part in proposals if part in chosen]
    changes: dict[str, float] = {name: value for part in parts for name, value in proposals[part].items()}
    note = f"Calibrate: {', '.join(forms.PART_TITLES[part] for part in parts)}."
    version = policy_drafts.save_policy_draft(namespace, {**changed, **changes}, note=note, by=access.caller)
    query_string = urlencode({"draft": str(version.id)})
    return HttpResponseRedirect(f"{resolve_url('calibrate', namespace.slug)}?{query_string}#draft")


@require_POST
@members_only
def save_preset_draft(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Save the preset of a domain as a draft of the write policy."""
    access, preset = require_role(request, namespace, Role.ADMIN), request.POST.get("preset", "")
    if preset not in PRESETS:
        messages.warning(request, f"Nothing was saved: preset must be one of {', '.join(PRESETS)}; got {preset}.")
        return redirect("calibrate", namespace.slug)
    version = policy_drafts.save_policy_draft(namespace, PRESETS[preset], note=f"Preset {preset}.", by=access.caller)
    query_string = urlencode({"draft": str(version.id)})
    return HttpResponseRedirect(f"{resolve_url('calibrate', namespace.slug)}?{query_string}#draft")


@require_POST
@members_only
def publish_calibration_draft(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Publish a draft and, if requested, start the recompute job."""
    publish_and_recompute(request, namespace, id)
    return redirect("calibrate", namespace.slug)


@require_POST
@members_only
def save_rrf_k(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Save the best k of the sweep as the next version of a profile; not served until published."""
    access = require_role(request, namespace, Role.WRITE)
    saved, message = save_best_rrf_k(namespace, request.POST.get("name", "").strip(), by=access.caller)
    (messages.success if saved else messages.warning)(request, message)
    return HttpResponseRedirect(f"{resolve_url('calibrate', namespace.slug)}#k")
