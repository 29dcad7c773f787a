"""Shadow: a version that answers a share of live traffic beside the serving one; its answers are stored and compared.

No request waits for it: a scheduled job processes the traces since its last run.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
from django.db import transaction

from memories.contracts.work import Step, Work
from memories.db.ids import first_id_at
from memories.models import Job, JudgedQuery, Namespace, ProfileVersion, Shadow, Trace
from memories.models.choices import JobKind
from memories.models.job import UNFINISHED
from memories.retrieval.answer import build_answer
from memories.retrieval.config import config_of_version
from memories.retrieval.query import Config
from memories.retrieval.replay import Replay, replay
from memories.retrieval.trace import request_to_dict, to_json_text
from memories.retrieval.trace_codec import pack_signals
from memories.tuning import current_grades
from memories.tuning.answer_overlap import answer_overlap
from memories.tuning.traced_sets import DEPTH
from scoring.metrics import ndcg

MAX_SCANNED, BATCH_SIZE = 5_000, 100  # traces sampled from, and loaded at a time
JOB_SECONDS = 50.0  # time limit of a job; the next one starts within a minute
MAX_FINISHED_JOBS = 10  # older ones are deleted
MAX_REPORTED = 2_000  # newest pairs that a report counts

QueryKey: TypeAlias = tuple[str, str, str | None]


@transaction.atomic
def create_shadow(namespace: Namespace, version: ProfileVersion, percent: int, *, by: str) -> Shadow:
    """Make a version the shadow from now on, replacing any other."""
    Shadow.objects.within(namespace).delete()
    return Shadow.objects.create(namespace=namespace, version_id=version.id, percent=percent, by=by)


def delete_shadow(namespace: Namespace) -> bool:
    """Delete the shadow; returns whether there was one. Its traces stay until they expire."""
    count, _ = Shadow.objects.within(namespace).delete()
    return bool(count)


def active_shadow(namespace: Namespace) -> Shadow | None:
    """The shadow, if there is one."""
    return Shadow.objects.within(namespace).select_related("version__profile").first()


def is_sampled(trace_id: UUID, percent: int) -> bool:
    """Whether a trace is in the sampled share, by the random bits of its id."""
    return trace_id.int % 2**32 % 100 < percent


def unseen_traces(shadow: Shadow) -> Any:
    """The live traces since the shadow's last run, oldest first."""
    live = Trace.objects.within(shadow.namespace).filter(shadow=False).order_by("id")
    return live.filter(id__gt=shadow.seen) if shadow.seen else live.filter(id__gte=first_id_at(shadow.since))


def shadow_step(work: Work) -> None:
    """Answer the sampled share of new traces until none is left or the time is up, and delete old jobs.

    Each answer is stored together with the shadow's position.
    """
    shadow, until = active_shadow(work.namespace), time.monotonic() + JOB_SECONDS
    while shadow is not None and time.monotonic() < until:
        new = list(unseen_traces(shadow).values_list("id", flat=True)[:MAX_SCANNED])
        if not new:
            break
        sampled = [id for id in new if is_sampled(id, shadow.percent)]
        answer_with_shadow(work, shadow, sampled[:BATCH_SIZE])
        if len(sampled) <= BATCH_SIZE:
            Shadow.objects.within(work.namespace).filter(id=shadow.id).update(seen=new[-1])
        shadow = active_shadow(work.namespace)
    finished = Job.objects.within(work.namespace).filter(kind=JobKind.SHADOW).exclude(state__in=UNFINISHED)
    older = finished.order_by("-created_at", "-id").values_list("id", flat=True)[MAX_FINISHED_JOBS:]
    finished.filter(id__in=list(older)).delete()


def answer_with_shadow(work: Work, shadow: Shadow, ids: Sequence[UUID]) -> None:
    """Answer some traces by the shadow, oldest first."""
    traces = Trace.objects.within(work.namespace).filter(id__in=ids).select_related("namespace").order_by("id")
    config, grades = config_of_version(shadow.version), grades_by_query(work.namespace, traces)
    for trace in traces:
        shadowed = shadow_trace(trace, config, grades.get(trace_key(trace), {}))
        with transaction.atomic():
            shadowed.save()
            Shadow.objects.within(work.namespace).filter(id=shadow.id).update(seen=trace.id)
            work.record_progress(work.job.done + 1, compared=1)


def shadow_trace(trace: Trace, config: Config, grades: Mapping[UUID, int]) -> Trace:
    """The shadow's answer to a trace's query, compared with the answer given."""
    replayed = replay(trace, config)
    answer = build_answer(replayed.retrieval, explain="none")
    before = [result["id"] for result in trace.answer["results"][:DEPTH]]
    after = [str(id) for id in answer.result_ids[:DEPTH]]
    overlap = answer_overlap(trace.id, before, after)
    against = {
        "trace": str(trace.id),
        "jaccard": overlap.jaccard,
        "rbo": overlap.rbo,
        "abstained": [overlap.abstained_before, overlap.abstained_after],
        "took_ms": [sum(took.values()) for took in (trace.took_ms, answer.took_ms)] if replayed.rerun_because else None,
        "rank_ms": [took.get("rank", 0.0) for took in (trace.took_ms, answer.took_ms)],
        "ndcg": [answer_ndcg(ids, grades) for ids in (before, after)] if any(grades.values()) else None,
    }
    return Trace(
        namespace=trace.namespace,
        as_of=trace.as_of,
        query=trace.query,
        request=request_to_dict(replayed.retrieval.query),
        profile_version_id=config.version_id,
        system=config.system.name,
        params=dict(config.given),
        plan=json.loads(to_json_text(replayed.retrieval.query_plan.to_dict())),
        layout=trace.layout,
        answer=answer.to_dict(),
        results=len(answer.results),
        against=against,
        abstained=answer.abstained,
        best_score=answer.results[0].score if answer.results else None,
        took_ms=answer.took_ms,
        shadow=True,
        **shadow_candidates(trace, replayed),
    )


def shadow_candidates(trace: Trace, replayed: Replay) -> dict[str, Any]:
    """The candidates of a shadow trace: those of the original, or those of a new retrieval."""
    if not replayed.rerun_because:
        return {"candidates": trace.candidates, "signals": trace.signals}
    retrieval = replayed.retrieval
    assert retrieval.parsed is not None
    return {
        "candidates": [row["id"] for row in retrieval.candidates.rows],
        "signals": pack_signals(retrieval.signals, retrieval.candidates.fingerprints, retrieval.parsed.embedder),
    }


def trace_key(trace: Trace) -> QueryKey:
    """What identifies a query: text, user and time."""
    return trace.query, trace.request.get("user") or "", trace.request.get("as_of")


def grades_by_query(namespace: Namespace, traces: Iterable[Trace]) -> dict[QueryKey, dict[UUID, int]]:
    """The current grades of the traced queries in any set; none for queries with an `as_of`."""
    keys = {trace_key(trace) for trace in traces}
    queries = JudgedQuery.objects.within(namespace).filter(text__in={key[0] for key in keys}, as_of=None)
    by_key: dict[QueryKey, dict[UUID, int]] = {}
    for set_id in queries.values_list("judgement_set_id", flat=True).distinct():
        for graded in current_grades.load_grades(namespace, set_id).queries:
            key = graded.query.text, graded.query.user, None
            if key in keys and graded.query.as_of is None:
                grades = by_key.setdefault(key, {})
                grades.update({memory: max(grade, grades.get(memory, 0)) for memory, grade in graded.grades.items()})
    return by_key


def answer_ndcg(ids: Sequence[str], grades: Mapping[UUID, int]) -> float:
    """nDCG@10 of one answer."""
    graded = np.array([[grades.get(UUID(id), 0) for id in ids] or [0]], dtype=float)
    ideal = np.array([sorted(grades.values(), reverse=True)], dtype=float)
    return float(ndcg(graded, ideal, DEPTH)[0])


def shadow_report(shadow: Shadow) -> dict[str, Any]:
    """How the shadow's newest answers differ from those given."""
    answered = Trace.objects.within(shadow.namespace).filter(
        profile_version_id=shadow.version_id, shadow=True, id__gte=first_id_at(shadow.since)
    )
    pairs = [pair for pair in answered.order_by("-id").values_list("against", flat=True)[:MAX_REPORTED] if pair]
    judged = [pair["ndcg"] for pair in pairs if pair["ndcg"]]
    return {
        "compared": len(pairs),
        "changed": sum(pair["rbo"] < 1 - 1e-9 for pair in pairs),
        "jaccard": mean_or_none([pair["jaccard"] for pair in pairs]),
        "rbo": mean_or_none([pair["rbo"] for pair in pairs]),
        "newly_abstained": sum(pair["abstained"] == [False, True] for pair in pairs),
        "newly_answered": sum(pair["abstained"] == [True, False] for pair in pairs),
        "live": sum(pair["took_ms"] is not None for pair in pairs),
        "took_ms": paired_medians([pair["took_ms"] for pair in pairs if pair["took_ms"]]),
        "rank_ms": paired_medians([pair["rank_ms"] for pair in pairs]),
        "judged": len(judged),
        "won": sum(after > before for before, after in judged),
        "lost": sum(after < before for before, after in judged),
        "most_changed": [
            {name: pair[name] for name in ("trace", "jaccard", "rbo")}
            for pair in sorted(pairs, key=lambda pair: (pair["rbo"], pair["trace"]))[:5]
            if pair["rbo"] < 1 - 1e-9
        ],
    }


def mean_or_none(values: Sequence[float]) -> float | None:
    """The mean, or None without values."""
    return float(np.mean(values)) if values else None


def paired_medians(pairs: Sequence[Sequence[float]]) -> list[float] | None:
    """The medians of the serving and the shadow values."""
    return [float(median) for median in np.median(np.array(pairs), axis=0)] if pairs else None


STEPS: dict[str, Step] = {"compare": shadow_step}
