"""What a person does on the page that is kept: a word on a memory, many from a file, a draft of the policy."""

from collections.abc import Iterator
from copy import copy
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, resolve_url
from django.views.decorators.http import require_POST
from rest_framework.exceptions import ValidationError

from memories.api.annotations import MAX_ANNOTATIONS, NewAnnotationSerializer
from memories.contracts.json_lines import LineReader
from memories.jobs.submission import BusyError, submit_job
from memories.models import Namespace
from memories.models.choices import JobKind, Role
from memories.pages.access import demanded, members_only
from memories.pages.calibrate.page import COST, PARTS, cost, k_of, shown
from memories.pages.calibrate.queue import annotator, as_body, asked
from memories.pages.policy_publishing import publish_policy_draft
from memories.templatetags.numbers import chance, signed
from memories.tuning import policy_drafts, profile_versions
from memories.tuning.annotation_records import NewAnnotation, annotate
from memories.tuning.calibration import findings
from memories.tuning.calibration.results import calibrate
from memories.tuning.sensitivity import RRF_K
from memories.web.serializers import line_body, valid_values
from memories.web.validation_errors import flatten_errors as flat
from memories.writing.write_errors import NotFoundError
from memories.writing.write_policy import current_write_policy
from scoring.params import ParamProblem


@require_POST
@members_only
def annotated(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Keep a member's word on a memory, and ask for the next."""
    demanded(request, namespace, Role.WRITE)
    problems = list[ParamProblem]()
    try:
        annotate(namespace, [read(as_body(request.POST, annotator(request)))])
    except ValidationError as error:
        problems = [ParamProblem(one["at"], one["message"]) for one in flat(error.detail)]
    except NotFoundError as error:
        problems = [ParamProblem("memory", str(error))]
    here = QueryDict(request.POST.get("here", ""))
    if not problems and not getattr(request, "htmx", False):
        return HttpResponseRedirect(f"{resolve_url('calibrate', namespace.slug)}?{here.urlencode()}")
    again = copy(request)
    vars(again)["GET"] = here
    typed = request.POST.dict() if problems else None
    ask = asked(again, namespace, typed=typed, problems=problems)
    return shown(again, namespace, ask=ask, partial="answered", status=400 if problems else 200)


@require_POST
@members_only
def imported(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Keep the annotations of a file, one a line, all or none."""
    demanded(request, namespace, Role.WRITE)
    file = request.FILES.get("file")
    if file is None:
        messages.warning(request, "Nothing was kept: choose a file of one annotation a line.")
        return redirect("calibrate", namespace.slug)
    try:
        kept = annotate(namespace, list(told(LineReader(file))))
        told_so = f"{kept.added} annotations came from the file, and {kept.replaced} took an earlier one's place."
        messages.success(request, told_so)
    except ValidationError as error:
        at = next(iter(flat(error.detail)))
        messages.warning(request, f"Nothing was kept: {at['at']} {at['message']}.")
    except NotFoundError as error:
        messages.warning(request, f"Nothing was kept: {error}")
    return redirect("calibrate", namespace.slug)


def told(reader: LineReader) -> Iterator[NewAnnotation]:
    """The annotations of a file's lines (ValidationError)."""
    for count, line in enumerate(reader.lines(), 1):
        if count > MAX_ANNOTATIONS:
            raise ValidationError(
                {f"line {line.number}": [f"must not come: a file has at most {MAX_ANNOTATIONS} annotations"]}
            )
        try:
            yield read(line_body(line))
        except ValidationError as error:
            at = next(iter(flat(error.detail)))
            raise ValidationError({f"line {line.number}": [f"{at['at']} {at['message']}"]}) from error


def read(body: Any) -> NewAnnotation:
    """An annotation as the API reads it (ValidationError)."""
    return NewAnnotation(**valid_values(NewAnnotationSerializer(data=body)))


@require_POST
@members_only
def kept(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Keep chosen parts of a calibration as a draft of the write policy, and show it."""
    access = demanded(request, namespace, Role.ADMIN)
    asking = copy(request)
    vars(asking)["GET"] = request.POST
    moved, wrong = cost(asking, current_write_policy(namespace))
    offers = findings.proposed_changes(calibrate(namespace, merge_cost=moved.get(COST)))
    parts = [part for part in offers if part in request.POST.getlist("part")]
    if refusal := unfit(parts, request.POST.getlist("part"), wrong):
        messages.warning(request, f"Nothing was kept: {refusal}.")
        return redirect("calibrate", namespace.slug)
    change: dict[str, float] = {name: to for part in parts for name, to in offers[part].items()}
    note = f"Calibrate: {', '.join(PARTS[part] for part in parts)}."
    version = policy_drafts.save_policy_draft(namespace, {**moved, **change}, note=note, by=access.caller)
    here = urlencode({"draft": str(version.id)})
    return HttpResponseRedirect(f"{resolve_url('calibrate', namespace.slug)}?{here}#draft")


@require_POST
@members_only
def k_kept(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Keep the best k of the sweep as the next version of a profile; it serves nobody until it is published."""
    access = demanded(request, namespace, Role.WRITE)
    found, name = k_of(namespace).get("sweep"), request.POST.get("name", "").strip()
    if found is None or not found.improves:
        messages.warning(request, "Nothing was kept: no other k is better.")
    elif wrong := profile_versions.profile_name_problem(name):
        messages.warning(request, f"Nothing was kept: the name {wrong}.")
    else:
        start, best = found.config, found.best
        version = profile_versions.add_profile_version(
            namespace,
            name=name,
            system=start.system.name,
            params={**start.given, RRF_K: best.k},
            parent=start.version_id,
            note=f"Calibrate: k by its sweep, {signed(best.comparison.difference, 3)} (p {chance(best.p_value)}).",
            by=access.caller,
        )
        messages.success(
            request, f"Kept as {profile_versions.version_label(version)}. It serves nobody until it is published."
        )
    return HttpResponseRedirect(f"{resolve_url('calibrate', namespace.slug)}#k")


def unfit(parts: list[str], sent: list[str], wrong: list[ParamProblem]) -> str:
    """Why a choice of parts cannot be kept, or nothing."""
    if wrong:
        return "; ".join(f"{one.at} {one.message}" for one in wrong)
    if unknown := sorted(set(sent) - set(parts)):
        return f"{', '.join(unknown)} is not offered now"
    if not parts:
        return "choose what to keep"
    if {"weights", "formal"} <= set(parts):
        return "the fitted weights and those for formal speech exclude each other; choose one"
    return ""


@require_POST
@members_only
def published(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Let a draft decide from now on, and weigh what is stored by it where that is asked for."""
    version = publish_policy_draft(request, namespace, id)
    told = f"Version {version.number} of {version.policy.name} decides from now on."
    if "recompute" in request.POST:
        told += f" {recomputed(request, namespace, id)}"
    messages.success(request, told)
    return redirect("calibrate", namespace.slug)


def recomputed(request: HttpRequest, namespace: Namespace, id: UUID) -> str:
    """Have what is stored weighed anew; tell where that can be watched."""
    access = demanded(request, namespace, Role.ADMIN)
    try:
        submit_job(namespace, JobKind.RECOMPUTE, {"version": str(id)}, by=access.caller)
    except BusyError as error:
        return str(error)
    return "What is stored is weighed by it as a job; Health shows how far it is."
