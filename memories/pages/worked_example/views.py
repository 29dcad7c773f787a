"""Views of the Worked example page: the ten steps from the stored memory, and a button that stores it."""

import json
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.utils.html import format_html
from django.views.decorators.http import require_GET, require_POST

from memories.models import Namespace
from memories.models.choices import Role
from memories.pages.access import access_of, members_only, require_role
from memories.pages.explanation_nodes import explanation_node
from memories.pages.formulas.mathml import tex_to_mathml
from memories.pages.worked_example.example_memory import StoredExample, find_example, load_example, store_example
from memories.web.layout import render_page
from scoring.catalogue.worked_example import EXAMPLE_CONTENT, EXAMPLE_QUERY, EXAMPLE_STATEMENT, worked_steps

TEMPLATE = "memories/worked_example.html"


@require_GET
@members_only
def worked_example_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The ten steps computed from the stored memory, or the offer to store it."""
    memory = find_example(namespace)
    context = {
        "statement": EXAMPLE_STATEMENT,
        "query": EXAMPLE_QUERY,
        "content": EXAMPLE_CONTENT,
        "may_write": access_of(request, namespace).allows(Role.WRITE),
        **(steps_context(load_example(memory)) if memory else {"writable": writable_namespaces(request, namespace)}),
    }
    return render_page(request, TEMPLATE, context)


def steps_context(example: StoredExample) -> dict[str, Any]:
    """The steps with their formulas, and how many numbers are the paper's."""
    steps = worked_steps(example.worked)
    numbers = [number for step in steps for number in step.numbers]
    return {
        "example": example,
        "steps": [(step, tex_to_mathml(step.formula.tex)) for step in steps],
        "reproduced": sum(number.agrees and not number.ruling for number in numbers),
        "corrected": sum(number.verdict == "erratum" for number in numbers),
        "differing": [entry for entry in example.inputs if not entry.same],
        "trees": {
            "confidence": explanation_node(example.worked.confidence.tree()),
            "weight": explanation_node(example.worked.weight.tree(0)),
        },
        "context_json": json.dumps(
            {type: [entry.to_dict() for entry in entries] for type, entries in example.context.items()},
            indent=2,
            default=str,
        ),
    }


def writable_namespaces(request: HttpRequest, namespace: Namespace) -> list[Namespace]:
    """The other namespaces this member may write to."""
    writable = Namespace.objects.filter(
        memberships__user=request.user.pk, memberships__role__in=(Role.WRITE, Role.ADMIN)
    )
    return list(writable.exclude(id=namespace.id).order_by("slug"))


@require_POST
@members_only
def store_worked_example(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Store the example's memory as an agent would."""
    access = require_role(request, namespace, Role.WRITE)
    if find_example(namespace):
        messages.warning(request, "Nothing was stored: the example is here already.")
        return redirect("worked-example", namespace.slug)
    memory = store_example(namespace, by=access.caller)
    if memory.content != EXAMPLE_CONTENT:
        url = resolve_url("memories-memory", namespace.slug, memory.id)
        message = 'It was merged into <a href="{}">a memory that says the same</a>; store it in another namespace.'
        messages.warning(request, format_html(message, url))
    return redirect("worked-example", namespace.slug)
