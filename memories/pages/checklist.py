"""The first steps in a namespace, ticked by what is there, until everything is done or the member has had enough."""

from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from memories.models import ApiKey, JudgedQuery, Membership, Memory, Namespace, ProfileVersion, Publication, Trace
from memories.models.choices import Status
from memories.pages.access import members_only

ENOUGH_JUDGED = 5  # queries


class FirstStep(NamedTuple):
    """A step, the page where it is taken, and whether it is done."""

    title: str
    why: str
    url_name: str
    done: bool


def first_steps(namespace: Namespace) -> list[FirstStep]:
    """The way from nothing to a tuned configuration that serves an agent."""
    judged = JudgedQuery.objects.within(namespace).filter(judgements__isnull=False).distinct()[:ENOUGH_JUDGED]
    published = Publication.objects.within(namespace).filter(profile_version_id__isnull=False)
    called = ApiKey.objects.within(namespace).filter(last_used_at__isnull=False)
    return [
        FirstStep(
            "Add memories",
            "a file, a conversation, or one by one",
            "add-data",
            Memory.objects.within(namespace).filter(status=Status.ACTIVE).exists(),
        ),
        FirstStep(
            "Ask something", "and see why each memory came back", "lab", Trace.objects.within(namespace).exists()
        ),
        FirstStep(
            f"Judge {ENOUGH_JUDGED} queries",
            "which memories answer them decides what is better",
            "judgements",
            len(judged) == ENOUGH_JUDGED,
        ),
        FirstStep(
            "Tune and save",
            "move a slider, watch the metric",
            "tune",
            ProfileVersion.objects.within(namespace).exists(),
        ),
        FirstStep("Publish", "through the gate, with one click back", "profiles", published.exists()),
        FirstStep("Connect an agent", "with a key and the code for it", "connect", called.exists()),
    ]


def checklist_context(request: HttpRequest, namespace: Namespace) -> dict[str, Any]:
    """The steps, unless all are done or the member dismissed them."""
    membership = Membership.objects.only("guided").get(namespace=namespace, user=request.user.pk)
    if not membership.guided:
        return {"first_steps": []}
    steps = first_steps(namespace)
    done = sum(step.done for step in steps)
    return {"first_steps": [] if done == len(steps) else steps, "steps_done": done}


@require_POST
@members_only
def dismiss_checklist(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Show the steps no more to this member."""
    Membership.objects.filter(namespace=namespace, user=request.user.pk).update(guided=False)
    return redirect("overview", namespace.slug)
