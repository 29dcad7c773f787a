"""Pair after pair: a query, a memory that settings find for it, and a grade by a key."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from rest_framework.exceptions import ValidationError

from memories.api.judgement_sets import check_graded_pairs, judgement_set_or_404
from memories.models import JudgedQuery, Judgement, JudgementSet, Memory, Namespace
from memories.models.choices import Role
from memories.pages.access import access_of, demanded, members_only
from memories.pages.lab.markup import GRADE_MEANINGS as MEANINGS
from memories.pages.request_data import filled_fields
from memories.tuning import judgement_pooling
from memories.tuning.judgement_import import GRADES
from memories.tuning.judgement_store import delete_grade, store_grades
from memories.tuning.judging_queue import UnjudgedPair, unjudged_pairs
from memories.web.fields import Identifier, OneOf
from memories.web.layout import render_page
from memories.web.serializers import StrictObject, valid_values
from memories.web.validation_errors import flatten_errors as flat

MOST_SKIPPED = 100  # that an address holds; the first skipped come back first
BESIDE = 20  # grades of the same query that are shown


class Given(StrictObject):
    """What a person makes of a pair: a grade, its withdrawal, or nothing for now."""

    act = OneOf(choices=[*map(str, GRADES), "skip", "undo"])
    pair = Identifier(required=False)
    query = Identifier()
    memory = Identifier()


@require_GET
@members_only
def judging(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Show the pair that is most worth judging."""
    return shown(request, judgement_set_or_404(namespace, id), request.GET)


@require_POST
@members_only
def judged(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Keep a grade, or skip, or take the last one back; then the next pair."""
    demanded(request, namespace, Role.WRITE)
    found = judgement_set_or_404(namespace, id)
    here = QueryDict(request.POST.get("here", ""), mutable=True)
    sent = {name: text for name, text in filled_fields(request.POST).items() if name != "here"}
    try:
        given = valid_values(Given(data=sent))
        pair = {"query": given["query"], "memory": given["memory"]}
        check_graded_pairs(found, [pair])
    except ValidationError as error:
        return shown(request, found, here, wrong=list(flat(error.detail)), status=400)
    here.pop("last", None)
    if given["act"] == "undo":
        delete_grade(found, given["query"], given["memory"])
    elif given["act"] == "skip":
        kept = [one for one in here.getlist("skip") if one != str(given.get("pair"))]
        here.setlist("skip", [*kept, str(given.get("pair", ""))][-MOST_SKIPPED:])
    else:
        store_grades(found, {(given["query"], given["memory"]): int(given["act"])}, by=request.user.get_username())
        here["last"] = f"{given['query']}.{given['memory']}"
    if getattr(request, "htmx", False):
        return shown(request, found, here)
    return HttpResponseRedirect(address(found, here))


def shown(
    request: HttpRequest, found: JudgementSet, here: QueryDict, *, wrong: Any = None, status: int = 200
) -> HttpResponse:
    """The next pair with what is graded for its query already, and the last grade that was given."""
    skipped = ids(here.getlist("skip"))
    pairs = unjudged_pairs(found.namespace, found.id, 1, skipped)
    context = {
        "set": found,
        "pair": told(found, pairs[0]) if pairs else None,
        "left": pairs[0].left if pairs else 0,
        "skipped": len(skipped),
        "again": bool(pairs) and pairs[0].id in skipped,
        "pooled": bool(pairs) or bool(judgement_pooling.latest_pools(found.namespace, [found.id])),
        "last": last(found, here.get("last", "")),
        "here": here.urlencode(),
        "meanings": list(enumerate(MEANINGS)),
        "writes": access_of(request, found.namespace).allows(Role.WRITE),
        "wrong": wrong,
    }
    status = 200 if getattr(request, "htmx", False) else status  # htmx shows nothing of a refusal
    response = render_page(request, "memories/judging.html", context, partial="pair", status=status)
    response["HX-Replace-Url"] = address(found, here)
    return response


def told(found: JudgementSet, pair: UnjudgedPair) -> dict[str, Any]:
    """A pair with its words, and with the grades that its query has."""
    namespace = found.namespace
    beside = Judgement.objects.within(namespace).filter(query_id=pair.query_id).select_related("memory")
    given = list(beside.order_by("-grade", "id")[:BESIDE])
    return {
        "pair": pair,
        "query": JudgedQuery.objects.within(namespace).get(id=pair.query_id),
        "memory": Memory.objects.within(namespace).get(id=pair.memory_id),
        "ranks": sorted(pair.ranks.items(), key=lambda one: (one[1], one[0])),
        "beside": given,
    }


def last(found: JudgementSet, said: str) -> Judgement | None:
    """The grade that was given last, if it still stands."""
    pair = ids(said.split("."))
    if len(pair) != 2:
        return None
    rows = Judgement.objects.within(found.namespace).filter(query_id=pair[0], memory_id=pair[1])
    return rows.filter(query__judgement_set_id=found.id).select_related("memory", "query").first()


def ids(texts: list[str]) -> list[UUID]:
    """Those texts that are ids."""
    found = []
    for text in texts[:MOST_SKIPPED]:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


def address(found: JudgementSet, here: QueryDict) -> str:
    """Where the next pair is shown."""
    path = reverse("judgements-judge", args=[found.namespace.slug, found.id])
    said = [(name, text) for name in ("skip", "last") for text in here.getlist(name) if text]
    return f"{path}?{urlencode(said)}" if said else path
