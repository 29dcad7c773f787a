"""The sets of a namespace with what they hold today, and one set with its queries and its pool."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET
from rest_framework.exceptions import ValidationError

from memories.api.judgement_files import JudgementExportQuery, stream_judgement_set
from memories.api.judgement_serializers import JudgedQueriesQuery
from memories.api.judgement_sets import filter_judged_queries, judgement_set_or_404
from memories.jobs.registry import job_completion
from memories.models import Job, JudgedQuery, Judgement, JudgementSet, Memory, Namespace
from memories.models.choices import Part, QueryKind, Role
from memories.pages.access import access_of, members_only
from memories.pages.lab.forms import ranking_options
from memories.pages.lab.markup import GRADE_MEANINGS
from memories.pages.request_data import api_request, query_params_dict
from memories.tuning import judgement_pooling, judging_queue, query_sampling
from memories.tuning.current_grades import COUNTED_STATUSES
from memories.tuning.judgement_set_stats import JudgementSetStats, judgement_set_stats
from memories.tuning.splits import TUNE_SHARE
from memories.web.layout import render_page
from memories.web.pagination import paginate
from memories.web.validation_errors import flatten_errors as flat

MOST_SETS = 100
AT_ONCE = (
    500  # queries of a set whose pool is counted while the page is made; a larger one is counted after it has come
)
FILTERS = ("q", "split", "kind", "category", "unjudged", "lost")


@require_GET
@members_only
def judgements(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Every set, with how much of it counts."""
    return listed(request, namespace)


def listed(request: HttpRequest, namespace: Namespace, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page of all sets; what was refused stands beside its form."""
    found = list(JudgementSet.objects.within(namespace).order_by("-created_at", "id")[: MOST_SETS + 1])
    sets = found[:MOST_SETS]
    ids = [one.id for one in sets]
    held, last, serves = (
        judgement_set_stats(namespace, ids),
        judgement_pooling.latest_pools(namespace, ids),
        judgement_pooling.serving_config_name(namespace),
    )
    context = {
        "rows": [
            {"set": one, "holds": held[one.id], **left(held[one.id]), **pooled(last, one, serves)} for one in sets
        ],
        "all": sum(held[id].queries for id in ids),
        "capped": len(found) > MOST_SETS,
        "most": MOST_SETS,
        "serves": serves,
        "share": TUNE_SHARE,
        "k": judgement_pooling.DEFAULT_K,
        "writes": access_of(request, namespace).allows(Role.WRITE),
        **more,
    }
    return render_page(request, "memories/judgements.html", context, status=status)


def left(holds: JudgementSetStats) -> dict[str, Any]:
    """What of a set counts no more, and why."""
    return {"left_out": sorted(holds.left_out.items()), "left": sum(holds.left_out.values())}


def pooled(last: Mapping[UUID, Any], one: JudgementSet, serves: str) -> dict[str, Any]:
    """unjudged@k of what serves, as the last pool of a set found it."""
    job = last.get(one.id)
    found = job.result.get("pool", {}).get("unjudged", {}) if job else {}
    return {"pool": job, "unjudged": found.get(serves)}


@require_GET
@members_only
def judgement_set(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """One set: what it holds, its pool and its queries; htmx asks again for the queries or for a pool under way."""
    judged = judgement_set_or_404(namespace, id)
    if request.headers.get("HX-Target") == "pool":
        context = poolable(request, judged) | pool_of(judged)
        return render_page(request, "memories/judgement_set.html", context, partial="pool")
    return shown(request, judged)


def shown(request: HttpRequest, judged: JudgementSet, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page of a set; what was refused stands beside its form."""
    namespace, sent = judged.namespace, api_request(request)
    holds = judgement_set_stats(namespace, [judged.id])[judged.id]
    patient = holds.queries <= AT_ONCE or "pool" in request.GET
    context = {
        **poolable(request, judged),
        **(pool_of(judged) if patient else {"later": True}),
        "holds": holds,
        **left(holds),
        "shares": parts_of(holds),
        "given": query_params_dict(sent),
        "parts": Part.values,
        "kinds": QueryKind.values,
        "categories": categories(judged),
        "ways": query_sampling.SAMPLING_METHODS,
        "draws": {"days": query_sampling.MAX_DAYS, "most": query_sampling.MAX_QUERIES},
    }
    try:
        query = JudgedQueriesQuery.from_request(sent)
        found = paginate(sent, namespace, with_memories(judged, query), query, by_id=True)
        context |= {"found": found, "rows": [told(one) for one in found.rows]}
    except ValidationError as error:
        context["wrong_filter"] = list(flat(error.detail))
        status = 200 if getattr(request, "htmx", False) else 400  # htmx shows nothing of a refusal
    filters = {name: text for name, text in query_params_dict(sent).items() if name in FILTERS}
    first = f"{request.path}?{urlencode(filters)}" if filters else request.path
    context |= {"filters": filters, "first": first, **more}
    return render_page(request, "memories/judgement_set.html", context, partial="queries", status=status)


def poolable(request: HttpRequest, judged: JudgementSet) -> dict[str, Any]:
    """What a set could be pooled by, what it was pooled by last, and the pool under way."""
    namespace = judged.namespace
    job, serves = (
        judgement_pooling.unfinished_pool_job(namespace, judged.id),
        judgement_pooling.serving_config_name(namespace),
    )
    last = judgement_pooling.latest_pools(namespace, [judged.id]).get(judged.id)
    return {
        "set": judged,
        "job": job,
        "percent": 100 * job_completion(job) if job else 0,
        "last": last,
        "k": k_of(last),
        "serves": serves,
        "settings": {group: some for group, some in ranking_options(namespace).items() if group},
        "chosen": last.params["configs"] if last else [serves],
        "writes": access_of(request, namespace).allows(Role.WRITE),
    }


def pool_of(judged: JudgementSet) -> dict[str, Any]:
    """What the pool of a set says by the grades of this moment."""
    k = k_of(judgement_pooling.latest_pools(judged.namespace, [judged.id]).get(judged.id))
    open = judging_queue.unjudged_pairs(judged.namespace, judged.id, 1)
    shared = sorted(judgement_pooling.unjudged_shares(judged.namespace, judged.id, k), key=lambda one: one.share)
    return {"shared": shared, "open": open[0].left if open else 0}


def k_of(last: Job | None) -> int:
    """How many hits of each setting the last pool took."""
    return int(last.params["k"]) if last else judgement_pooling.DEFAULT_K


def parts_of(holds: JudgementSetStats) -> list[dict[str, Any]]:
    """The two sides of a set as shares of it."""
    return [{"part": part, "queries": holds.parts[part], "wide": wide(holds, part)} for part in Part.values]


def wide(holds: JudgementSetStats, part: str) -> float:
    """How much of a set lies on one side, in percent."""
    return 100 * holds.parts[part] / (holds.queries or 1)


def categories(judged: JudgementSet) -> list[str]:
    """The categories of a set's queries."""
    rows = JudgedQuery.objects.within(judged.namespace).filter(judgement_set_id=judged.id).exclude(category="")
    return list(rows.order_by("category").values_list("category", flat=True).distinct()[:MOST_SETS])


def with_memories(judged: JudgementSet, query: dict[str, Any]) -> Any:
    """The chosen queries with what was judged for them, the best first."""
    memories = Memory.objects.within(judged.namespace).only("namespace_id", "id", "content", "status", "merged_into_id")
    grades = Judgement.objects.within(judged.namespace).order_by("-grade", "id")
    return filter_judged_queries(judged, query).prefetch_related(
        Prefetch("judgements", grades.prefetch_related(Prefetch("memory", memories)))
    )


def told(query: JudgedQuery) -> dict[str, Any]:
    """A query with how many memories have each grade."""
    given: Sequence[Judgement] = list(query.judgements.all())
    counts = [(grade, sum(one.grade == grade for one in given)) for grade in reversed(range(len(GRADE_MEANINGS)))]
    return {
        "query": query,
        "judgements": given,
        "counts": [(grade, count) for grade, count in counts if count],
        "gone": sum(one.memory.status not in (*COUNTED_STATUSES, "merged") for one in given),
    }


@require_GET
@members_only
def exported(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """A set as a file to save."""
    judged = judgement_set_or_404(namespace, id)
    try:
        asked = JudgementExportQuery.from_request(api_request(request))
    except ValidationError as error:
        return shown(request, judged, wrong=list(flat(error.detail)), status=400)
    answer: Any = stream_judgement_set(judged, **asked)
    ending = {"jsonl": "jsonl", "qrels": "qrels", "queries": "tsv"}[asked["shape"]]
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in judged.name)
    answer["Content-Disposition"] = f'attachment; filename="{plain}.{ending}"'
    return answer  # type: ignore[no-any-return]
