"""What a person does with sets: make, fill, draw, pool, delete."""

from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST
from rest_framework.exceptions import ValidationError

from memories.api.judgement_files import PoolRequest, TrecFiles
from memories.api.judgement_serializers import MAX_BODY_BYTES, NewJudgementSet, QuerySampleSerializer
from memories.api.judgement_sets import judgement_set_or_404, save_judgement_set
from memories.jobs import tuning_jobs
from memories.models import JudgementSet, Namespace
from memories.models.choices import Role
from memories.pages.access import demanded, members_only
from memories.pages.judgements.page import listed, shown
from memories.pages.request_data import filled_fields
from memories.tuning import judgement_import, judgement_pooling, query_sampling, trec
from memories.tuning.judgement_import import ParsedJudgements
from memories.tuning.judgement_store import store_queries
from memories.web.fields import Integer, OneOf
from memories.web.http_errors import Conflict
from memories.web.serializers import valid_values
from memories.web.validation_errors import flatten_errors as flat
from memories.web.validation_errors import truncate_errors as shortened


class DrawForm(QuerySampleSerializer):
    """What to draw, as a form says it."""

    days = Integer(in_query=True, min_value=1, max_value=query_sampling.MAX_DAYS)
    most = Integer(in_query=True, min_value=1, max_value=query_sampling.MAX_QUERIES)
    way = OneOf(choices=list(query_sampling.SAMPLING_METHODS))


class PoolForm(PoolRequest):
    """By what to pool, as a form says it."""

    k = Integer(in_query=True, min_value=1, max_value=judgement_pooling.MAX_K)


@require_POST
@members_only
def made(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Make a set, empty or filled from a file at once: both or neither."""
    demanded(request, namespace, Role.WRITE)
    given = filled_fields(request.POST)
    try:
        wanted = valid_values(NewJudgementSet(data={name: given[name] for name in ("name", "note") if name in given}))
        brought = read(request, namespace).or_raise() if request.FILES else []
        judged = JudgementSet(namespace=namespace, **wanted)
        with transaction.atomic():
            save_judgement_set(judged)
            kept = store_queries(judged, brought, by=request.user.get_username())
    except ValidationError as error:
        return listed(request, namespace, given=given, wrong=shortened(list(flat(error.detail))), status=400)
    except Conflict as error:
        return listed(request, namespace, given=given, wrong=error.errors, status=409)
    messages.success(request, f"The set “{judged.name}” is made" + (f": {count(kept.added)}." if brought else "."))
    return redirect("judgements-set", namespace.slug, judged.id)


@require_POST
@members_only
def imported(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Fill a set from a file, all of it or nothing."""
    demanded(request, namespace, Role.WRITE)
    judged = judgement_set_or_404(namespace, id)
    try:
        brought = read(request, namespace).or_raise()
    except ValidationError as error:
        return shown(request, judged, wrong=shortened(list(flat(error.detail))), at="import", status=400)
    if "check" in request.POST:
        grades = sum(len(one.grades) for one in brought)
        messages.success(request, f"Nothing is wrong with {count(len(brought))} and {grades} grades; nothing was kept.")
    else:
        kept = store_queries(judged, brought, by=request.user.get_username())
        messages.success(
            request, f"{count(len(brought))} came in, {kept.added} of them new, with {kept.grades} grades."
        )
    return redirect("judgements-set", namespace.slug, judged.id)


@require_POST
@members_only
def drawn(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Put what agents really asked into a set."""
    demanded(request, namespace, Role.WRITE)
    judged, given = judgement_set_or_404(namespace, id), filled_fields(request.POST)
    try:
        asked = valid_values(DrawForm(data=given))
    except ValidationError as error:
        return shown(request, judged, wrong=list(flat(error.detail)), at="draw", drawing=given, status=400)
    kept = query_sampling.add_sampled_queries(judged, by=request.user.get_username(), **asked)
    if kept.queries:
        messages.success(request, f"{count(len(kept.queries))} drawn, {kept.added} of them new to the set.")
    else:
        messages.warning(request, f"Nothing was asked here in the last {asked['days']} days.")
    return redirect("judgements-set", namespace.slug, judged.id)


@require_POST
@members_only
def pooled(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Have a set pooled by a worker, and go back to where it can be watched."""
    access = demanded(request, namespace, Role.WRITE)
    judged = judgement_set_or_404(namespace, id)
    sent = {"k": request.POST.get("k", ""), "configs": request.POST.getlist("configs")}
    try:
        asked = valid_values(PoolForm(data=sent))
        tuning_jobs.submit_pool_job(judged, asked["configs"], asked["k"], by=access.caller)
    except ValidationError as error:
        return shown(request, judged, wrong=list(flat(error.detail)), at="pool", status=400)
    except judgement_pooling.UnknownConfigError as error:
        return shown(request, judged, wrong=[{"at": "configs", "message": str(error)}], at="pool", status=400)
    messages.success(request, "A worker makes the pool; it is shown here as it grows.")
    return redirect("judgements-set", namespace.slug, judged.id)


@require_POST
@members_only
def deleted(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """Delete a set with all that was judged in it."""
    demanded(request, namespace, Role.WRITE)
    judged = judgement_set_or_404(namespace, id)
    JudgementSet.objects.within(namespace).filter(id=judged.id).delete()
    messages.success(request, f"The set “{judged.name}” is deleted.")
    return redirect("judgements", namespace.slug)


def read(request: HttpRequest, namespace: Namespace) -> ParsedJudgements:
    """The file of a form: lines of JSON, or TREC's queries where judgements come beside them."""
    sent, qrels = request.FILES.get("file"), request.FILES.get("qrels")
    if sent is None:
        raise ValidationError({"file": ["is required"]})
    for name, one in {"file": sent, "qrels": qrels}.items():
        if one is not None and (one.size or 0) > MAX_BODY_BYTES:
            raise ValidationError({name: [f"must have at most {MAX_BODY_BYTES:,} bytes; got {one.size:,}"]})
    if qrels is None:
        return judgement_import.parse_judgement_lines(namespace, sent)
    try:
        texts = {"queries": sent.read().decode(), "qrels": qrels.read().decode()}
    except UnicodeDecodeError as error:
        raise ValidationError({"file": [f"must be UTF-8; got 0x{error.object[error.start]:02x}"]}) from error
    return trec.read_trec(
        namespace, **valid_values(TrecFiles(data=texts | {"docid": request.POST.get("docid") or trec.MEMORY_ID}))
    )


def count(queries: int) -> str:
    """So many queries."""
    return f"{queries:,} {'query' if queries == 1 else 'queries'}"
