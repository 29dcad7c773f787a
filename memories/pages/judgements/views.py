"""Views of the Judgements page: all sets, one set with its queries and pool, and what fills a set."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST
from rest_framework.exceptions import ValidationError

from memories.jobs import tuning_jobs
from memories.models import JudgedQuery, Judgement, JudgementSet, Memory, Namespace
from memories.models.choices import Role, Split
from memories.pages.access import access_of, members_only, require_role
from memories.pages.judgements import forms
from memories.pages.judgements.judgement_rows import KIND_LABELS, PoolPanel, QueryRow, SetRow, query_count
from memories.pages.lab.forms import ranking_options
from memories.pages.request_data import api_request, filled_fields, query_params_dict
from memories.tuning import judgement_pooling, query_sampling
from memories.tuning.judgement_set_stats import judgement_set_stats
from memories.tuning.judgement_store import store_queries
from memories.tuning.splits import TUNE_SHARE
from memories.web.http_errors import Conflict
from memories.web.judgement_bodies import JudgedQueriesQuery, JudgementExportQuery, NewJudgementSet
from memories.web.judgement_import import valid_queries
from memories.web.judgement_lookups import filter_judged_queries, judgement_set_or_404, save_judgement_set
from memories.web.layout import render_page
from memories.web.line_stream import stream_judgement_set
from memories.web.pagination import paginate
from memories.web.serializers import valid_values
from memories.web.validation_errors import flatten_errors, truncate_errors

LIST_TEMPLATE = "memories/judgements.html"
SET_TEMPLATE = "memories/judgement_set.html"
MAX_SETS = 100
MAX_CATEGORIES = 100
MAX_IMMEDIATE_QUERIES = 500  # the pool of a larger set is counted after the page has loaded
FILE_EXTENSIONS = {"jsonl": "jsonl", "qrels": "qrels", "queries": "tsv"}


@require_GET
@members_only
def judgement_list(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """All sets of a namespace."""
    return render_judgement_list(request, namespace)


def render_judgement_list(
    request: HttpRequest, namespace: Namespace, *, status: int = 200, **form_context: Any
) -> HttpResponse:
    """The page of all sets; `form_context` has the values and errors of a rejected form."""
    newest = list(JudgementSet.objects.within(namespace).order_by("-created_at", "id")[: MAX_SETS + 1])
    sets = newest[:MAX_SETS]
    ids = [judgement_set.id for judgement_set in sets]
    stats, pools = judgement_set_stats(namespace, ids), judgement_pooling.latest_pools(namespace, ids)
    serving = judgement_pooling.serving_config_name(namespace)
    context = {
        "rows": [
            SetRow(judgement_set, stats[judgement_set.id], pools.get(judgement_set.id), serving)
            for judgement_set in sets
        ],
        "total_queries": sum(stats[id].queries for id in ids),
        "is_capped": len(newest) > MAX_SETS,
        "max_sets": MAX_SETS,
        "serving": serving,
        "tune_share": TUNE_SHARE,
        "k": judgement_pooling.DEFAULT_K,
        "may_write": access_of(request, namespace).allows(Role.WRITE),
        **form_context,
    }
    return render_page(request, LIST_TEMPLATE, context, status=status)


@require_GET
@members_only
def judgement_set_detail(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """One set; htmx loads its queries, or the panel of its pool."""
    judgement_set = judgement_set_or_404(namespace, id)
    if request.headers.get("HX-Target") == "pool":
        context = {"set": judgement_set, "pool": PoolPanel.load(judgement_set)}
        return render_page(request, SET_TEMPLATE, context, partial="pool")
    return render_judgement_set(request, judgement_set)


def render_judgement_set(
    request: HttpRequest, judgement_set: JudgementSet, *, status: int = 200, **form_context: Any
) -> HttpResponse:
    """The page of a set; `form_context` has the values and errors of a rejected form."""
    namespace, page_request = judgement_set.namespace, api_request(request)
    stats = judgement_set_stats(namespace, [judgement_set.id])[judgement_set.id]
    pool = PoolPanel.load(judgement_set, count=stats.queries <= MAX_IMMEDIATE_QUERIES or "pool" in request.GET)
    params = query_params_dict(page_request)
    filters = {name: text for name, text in params.items() if name in forms.QUERY_FILTERS}
    context = {
        "set": judgement_set,
        "pool": pool,
        "stats": stats,
        "row": SetRow(judgement_set, stats, pool.last, pool.serving),
        "ranking_options": {group: ranking_options(namespace)[group] for group in ("Systems", "Profiles")},
        "typed": params,
        "splits": Split.values,
        "kinds": [(str(kind), label) for kind, label in KIND_LABELS.items()],
        "categories": query_categories(judgement_set),
        "sample": forms.SAMPLE_DEFAULTS,
        "sampling_methods": [
            (method, forms.SAMPLING_LABELS.get(method, method)) for method in query_sampling.SAMPLING_METHODS
        ],
        "may_write": access_of(request, namespace).allows(Role.WRITE),
        "filters": filters,
        "unjudged_filter": forms.BOOLEAN_TEXTS.get(params.get("unjudged", ""), ""),
        "first_page": f"{request.path}?{urlencode(filters)}" if filters else request.path,
    }
    try:
        query = JudgedQueriesQuery.from_request(page_request)
        page = paginate(page_request, namespace, queries_with_grades(judgement_set, query), query, by_id=True)
        context |= {"page": page, "queries": [QueryRow(query) for query in page.rows]}
    except ValidationError as error:
        context["filter_errors"] = list(flatten_errors(error.detail))
        status = 400
    return render_page(request, SET_TEMPLATE, context | form_context, partial="queries", status=status)


def query_categories(judgement_set: JudgementSet) -> list[str]:
    """The categories of a set's queries."""
    queries = JudgedQuery.objects.within(judgement_set.namespace).filter(judgement_set_id=judgement_set.id)
    named = queries.exclude(category="").order_by("category")
    return list(named.values_list("category", flat=True).distinct()[:MAX_CATEGORIES])


def queries_with_grades(judgement_set: JudgementSet, query: dict[str, Any]) -> Any:
    """The filtered queries with their grades, best first."""
    namespace = judgement_set.namespace
    memories = Memory.objects.within(namespace).only("namespace_id", "id", "content", "status", "merged_into_id")
    grades = Judgement.objects.within(namespace).order_by("-grade", "id")
    return filter_judged_queries(judgement_set, query).prefetch_related(
        Prefetch("judgements", grades.prefetch_related(Prefetch("memory", memories)))
    )


@require_GET
@members_only
def export_judgement_set(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Download a set as a file."""
    judgement_set = judgement_set_or_404(namespace, id)
    try:
        query = JudgementExportQuery.from_request(api_request(request))
    except ValidationError as error:
        return render_judgement_set(request, judgement_set, wrong=list(flatten_errors(error.detail)), status=400)
    response: Any = stream_judgement_set(judgement_set, **query)
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in judgement_set.name)
    response["Content-Disposition"] = f'attachment; filename="{name}.{FILE_EXTENSIONS[query["shape"]]}"'
    return response  # type: ignore[no-any-return]


@require_POST
@members_only
def create_judgement_set(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Create a set, empty or filled from a file; both or neither."""
    require_role(request, namespace, Role.WRITE)
    typed = filled_fields(request.POST)
    try:
        body = valid_values(NewJudgementSet(data={name: typed[name] for name in ("name", "note") if name in typed}))
        queries = valid_queries(forms.read_judgement_upload(request, namespace)) if request.FILES else []
        judgement_set = JudgementSet(namespace=namespace, **body)
        with transaction.atomic():
            save_judgement_set(judgement_set)
            stored = store_queries(judgement_set, queries, by=request.user.get_username())
    except ValidationError as error:
        errors = truncate_errors(list(flatten_errors(error.detail)))
        return render_judgement_list(request, namespace, typed=typed, wrong=errors, status=400)
    except Conflict as error:
        return render_judgement_list(request, namespace, typed=typed, wrong=error.errors, status=409)
    content = f": {query_count(stored.added)}." if queries else "."
    messages.success(request, f"The set “{judgement_set.name}” was created{content}")
    return redirect("judgements-set", namespace.slug, judgement_set.id)


@require_POST
@members_only
def import_judgements(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Fill a set from a file, all or nothing."""
    require_role(request, namespace, Role.WRITE)
    judgement_set = judgement_set_or_404(namespace, id)
    try:
        queries = valid_queries(forms.read_judgement_upload(request, namespace))
    except ValidationError as error:
        return render_judgement_set(
            request, judgement_set, import_errors=truncate_errors(list(flatten_errors(error.detail))), status=400
        )
    if "check" in request.POST:
        grades = sum(len(query.grades) for query in queries)
        messages.success(request, f"{query_count(len(queries))} and {grades} grades are valid; nothing was imported.")
    else:
        stored = store_queries(judgement_set, queries, by=request.user.get_username())
        messages.success(
            request, f"{query_count(len(queries))} imported, {stored.added} of them new, with {stored.grades} grades."
        )
    return redirect("judgements-set", namespace.slug, judgement_set.id)


@require_POST
@members_only
def add_traced_queries(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Add a sample of the traced queries to a set."""
    require_role(request, namespace, Role.WRITE)
    judgement_set, typed = judgement_set_or_404(namespace, id), filled_fields(request.POST)
    try:
        sample = valid_values(forms.QuerySampleForm(data=typed))
    except ValidationError as error:
        return render_judgement_set(
            request, judgement_set, sample_errors=list(flatten_errors(error.detail)), sample=typed, status=400
        )
    stored = query_sampling.add_sampled_queries(judgement_set, by=request.user.get_username(), **sample)
    if stored.queries:
        sampled = query_count(len(stored.queries))
        messages.success(request, f"{sampled} sampled, {stored.added} of them new to the set.")
    else:
        messages.warning(request, f"There are no traces of the last {sample['days']} days.")
    return redirect("judgements-set", namespace.slug, judgement_set.id)


@require_POST
@members_only
def start_pooling(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Start a job that pools a set."""
    access = require_role(request, namespace, Role.WRITE)
    judgement_set = judgement_set_or_404(namespace, id)
    typed = {"k": request.POST.get("k", ""), "configs": request.POST.getlist("configs")}
    try:
        body = valid_values(forms.PoolForm(data=typed))
        tuning_jobs.submit_pool_job(judgement_set, body["configs"], body["k"], by=access.caller)
    except ValidationError as error:
        return render_judgement_set(request, judgement_set, pool_errors=list(flatten_errors(error.detail)), status=400)
    except judgement_pooling.UnknownConfigError as error:
        errors = [{"at": "configs", "message": str(error)}]
        return render_judgement_set(request, judgement_set, pool_errors=errors, status=400)
    messages.success(request, "A job is pooling the set; its progress is shown here.")
    return redirect("judgements-set", namespace.slug, judgement_set.id)


@require_POST
@members_only
def delete_judgement_set(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Delete a set with its grades."""
    require_role(request, namespace, Role.WRITE)
    judgement_set = judgement_set_or_404(namespace, id)
    JudgementSet.objects.within(namespace).filter(id=judgement_set.id).delete()
    messages.success(request, f"The set “{judgement_set.name}” was deleted.")
    return redirect("judgements", namespace.slug)
