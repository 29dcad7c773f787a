"""Views of judging pair by pair: a query, a pooled memory, and a grade by key."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from rest_framework.exceptions import ValidationError

from memories.models import JudgedQuery, Judgement, JudgementSet, Memory, Namespace
from memories.models.choices import Role
from memories.pages.access import access_of, members_only, require_role
from memories.pages.judgements.forms import MAX_SKIPPED, GradeForm, parse_uuids
from memories.pages.judgements.judgement_rows import GradeRow, QueryRow
from memories.pages.lab.markup import GRADE_MEANINGS
from memories.pages.request_data import filled_fields
from memories.tuning import judgement_pooling
from memories.tuning.judgement_store import delete_grade, store_grades
from memories.tuning.judging_queue import UnjudgedPair, unjudged_pairs
from memories.web.judgement_lookups import check_graded_pairs, judgement_set_or_404
from memories.web.layout import render_page
from memories.web.serializers import valid_values
from memories.web.validation_errors import flatten_errors

MAX_OTHER_GRADES = 20  # of the same query


@require_GET
@members_only
def judging_page(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """The pair most worth judging."""
    return render_judging(request, judgement_set_or_404(namespace, id), request.GET)


@require_POST
@members_only
def grade_pair(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Store a grade, skip the pair, or undo the last grade; then the next pair."""
    require_role(request, namespace, Role.WRITE)
    judgement_set = judgement_set_or_404(namespace, id)
    here = QueryDict(request.POST.get("here", ""), mutable=True)
    body = {name: text for name, text in filled_fields(request.POST).items() if name != "here"}
    try:
        form = valid_values(GradeForm(data=body))
        check_graded_pairs(judgement_set, [{"query": form["query"], "memory": form["memory"]}])
    except ValidationError as error:
        return render_judging(request, judgement_set, here, errors=list(flatten_errors(error.detail)), status=400)
    here.pop("last", None)
    if form["act"] == "undo":
        delete_grade(judgement_set, form["query"], form["memory"])
    elif form["act"] == "skip":
        pair = str(form.get("pair", ""))
        others = [id for id in here.getlist("skip") if id != pair]
        here.setlist("skip", [*others, pair][-MAX_SKIPPED:])
    else:
        grades = {(form["query"], form["memory"]): int(form["act"])}
        store_grades(judgement_set, grades, by=request.user.get_username())
        here["last"] = f"{form['query']}.{form['memory']}"
    if getattr(request, "htmx", False):
        return render_judging(request, judgement_set, here)
    return HttpResponseRedirect(judging_url(judgement_set, here))


def render_judging(
    request: HttpRequest, judgement_set: JudgementSet, here: QueryDict, *, errors: Any = None, status: int = 200
) -> HttpResponse:
    """The next pair, the other grades of its query, and the last grade given."""
    namespace = judgement_set.namespace
    skipped = parse_uuids(here.getlist("skip"))
    pairs = unjudged_pairs(namespace, judgement_set.id, 1, skipped)
    context = {
        "set": judgement_set,
        "pair": pair_context(judgement_set, pairs[0]) if pairs else None,
        "pending": pairs[0].left if pairs else 0,
        "skipped": len(skipped),
        "was_skipped": bool(pairs) and pairs[0].id in skipped,
        "is_pooled": bool(pairs) or bool(judgement_pooling.latest_pools(namespace, [judgement_set.id])),
        "last": last_grade(judgement_set, here.get("last", "")),
        "here": here.urlencode(),
        "grade_meanings": list(enumerate(GRADE_MEANINGS)),
        "may_write": access_of(request, namespace).allows(Role.WRITE),
        "wrong": errors,
    }
    response = render_page(request, "memories/judging.html", context, partial="pair", status=status)
    response["HX-Replace-Url"] = judging_url(judgement_set, here)
    return response


def pair_context(judgement_set: JudgementSet, pair: UnjudgedPair) -> dict[str, Any]:
    """A pair with its texts, and the other grades of its query."""
    namespace = judgement_set.namespace
    grades = Judgement.objects.within(namespace).filter(query_id=pair.query_id).select_related("memory")
    return {
        "id": pair.id,
        "row": QueryRow(JudgedQuery.objects.within(namespace).get(id=pair.query_id)),
        "memory": Memory.objects.within(namespace).get(id=pair.memory_id),
        "ranks": sorted(pair.ranks.items(), key=lambda item: (item[1], item[0])),
        "other_grades": [GradeRow(judgement) for judgement in grades.order_by("-grade", "id")[:MAX_OTHER_GRADES]],
    }


def last_grade(judgement_set: JudgementSet, text: str) -> Judgement | None:
    """The grade named by `query.memory` in the URL, if it still exists."""
    ids = parse_uuids(text.split("."))
    if len(ids) != 2:
        return None
    grades = Judgement.objects.within(judgement_set.namespace).filter(query_id=ids[0], memory_id=ids[1])
    return grades.filter(query__judgement_set_id=judgement_set.id).select_related("memory", "query").first()


def judging_url(judgement_set: JudgementSet, here: QueryDict) -> str:
    """The URL of the next pair."""
    path = reverse("judgements-judge", args=[judgement_set.namespace.slug, judgement_set.id])
    params = [(name, text) for name in ("skip", "last") for text in here.getlist(name) if text]
    return f"{path}?{urlencode(params)}" if params else path
