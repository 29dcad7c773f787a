"""What a person does about near pairs that is kept: a verdict, a draft of the policy, its publication."""

from copy import copy
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, resolve_url
from django.views.decorators.http import require_POST
from rest_framework.exceptions import ValidationError

from memories.api.review_queue import DecisionSerializer
from memories.models import Namespace
from memories.models.choices import Role, Verdict
from memories.pages import sliders
from memories.pages.access import demanded, members_only
from memories.pages.dedup import drafts
from memories.pages.dedup.drawing import draw
from memories.pages.dedup.page import shown
from memories.pages.policy_publishing import publish_policy_draft
from memories.web.serializers import valid_values
from memories.web.validation_errors import flatten_errors as flat
from memories.writing.review import decide_review
from memories.writing.write_errors import NotFoundError, RefusedError
from memories.writing.write_policy import current_write_policy
from scoring.params import ParamProblem, ParamsError
from scoring.policy import WritePolicyParams

SAID = {
    Verdict.DUPLICATE: "Merged: one has absorbed the other, and can be split from it again.",
    Verdict.DISTINCT: "Kept: they are two, and this pair is decided.",
    Verdict.CONTRADICTION: "Set against each other: both lost belief.",
}


@require_POST
@members_only
def decided(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Decide a pair as the API does; the page again, or where htmx asks the part that changes."""
    access = demanded(request, namespace, Role.WRITE)
    here = QueryDict(request.POST.get("here", ""))
    refused, status = list[ParamProblem](), 200
    try:
        verdict = Verdict(
            valid_values(DecisionSerializer(data={"verdict": request.POST.get("verdict", "")}))["verdict"]
        )
        decide_review(namespace, id, verdict, by=access.caller)
        messages.success(request, SAID[verdict], extra_tags="queue")  # told beside it
    except NotFoundError as error:
        raise Http404(str(error)) from error
    except ValidationError as error:
        refused, status = [ParamProblem(one["at"], one["message"]) for one in flat(error.detail)], 400
    except RefusedError as error:
        refused, status = [ParamProblem("", str(error))], 409
    if refused or getattr(request, "htmx", False):
        return shown(sent_from(request, namespace, here), namespace, refused=refused, status=status)
    return HttpResponseRedirect(f"{resolve_url('dedup', namespace.slug)}?{here.urlencode()}#queue")


@require_POST
@members_only
def drawn(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Lay pairs of all cosines into the queue."""
    demanded(request, namespace, Role.WRITE)
    if count := draw(namespace):
        told = f"{count} pair{'s' if count > 1 else ''} came into the queue, from the nearest to the farthest."
        messages.success(request, told, extra_tags="queue")
    else:
        messages.warning(request, "Every near pair was looked at already.", extra_tags="queue")
    return HttpResponseRedirect(f"{resolve_url('dedup', namespace.slug)}#queue")


def sent_from(request: HttpRequest, namespace: Namespace, here: QueryDict) -> HttpRequest:
    """The request for the page that a form was sent from."""
    again = copy(request)
    again.path = resolve_url("dedup", namespace.slug)
    vars(again)["GET"] = here
    return again


@require_POST
@members_only
def kept(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Keep the thresholds as a draft, and show it."""
    access = demanded(request, namespace, Role.ADMIN)
    moved, wrong = drafts.thresholds(request.POST, current_write_policy(namespace))
    if wrong:
        messages.warning(request, f"Nothing was kept: {ParamsError(wrong)}.")
        return redirect("dedup", namespace.slug)
    if not moved:
        messages.warning(request, "Nothing was kept: both thresholds stand where they serve.")
        return redirect("dedup", namespace.slug)
    version = drafts.keep(namespace, moved, by=access.caller)
    told = urlencode({**sliders.params_to_query(moved), "draft": str(version.id)})
    return HttpResponseRedirect(f"{resolve_url('dedup', namespace.slug)}?{told}#draft")


@require_POST
@members_only
def published(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Let a draft decide from now on."""
    version = publish_policy_draft(request, namespace, id)
    told = drafts.told(WritePolicyParams.of(version.params))
    messages.success(request, f"Version {version.number} of {version.policy.name} decides from now on: {told}.")
    return redirect("dedup", namespace.slug)
