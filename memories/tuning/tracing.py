"""A judged set asked once: every query's candidates and what is known of them, kept to be ranked again and again."""

from collections.abc import Mapping
from typing import Any, Protocol
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memories.jobs.starting import start
from memories.jobs.work import Step, Work
from memories.models import Job, JudgedQuery, JudgementSet, Namespace, NamespaceStatistics, TracedQuery, TracedSet
from memories.models.choices import JobKind
from memories.retrieval.packing import packed
from memories.retrieval.query import Query, Setting
from memories.retrieval.retrieve import retrieve
from scoring.systems import SYSTEMS

DEPTH = 10  # results of an answer that is measured


class Tell(Protocol):
    """Whoever hears how far the asking is."""

    def __call__(self, done: int, total: int | None = None, **counted: int) -> None: ...


def silent(done: int, total: int | None = None, **counted: int) -> None:
    """Tell nobody."""


def deciding(setting: Setting) -> dict[str, Any]:
    """What a setting says of the parameters that decide about candidates; the defaults go without saying."""
    declared, usual = setting.system.params.declared(), setting.system.params().as_dict()
    return {
        name: value
        for name, value in sorted(setting.given.items())
        if declared[name].scope == "candidates" and value != usual[name]
    }


def traced(namespace: Namespace, judged: JudgementSet, setting: Setting) -> TracedSet | None:
    """The set as it was last asked under the candidates of a setting, if it was."""
    done = TracedSet.objects.within(namespace).filter(judgement_set_id=judged.id, ready_at__isnull=False)
    asked = done.filter(system=setting.system.name, params=deciding(setting))
    return asked.order_by("begun_at", "id").last()


def writes_of(namespace: Namespace) -> int:
    """How often the namespace was written to."""
    statistics = NamespaceStatistics.objects.filter(namespace=namespace).only("writes").first()
    return statistics.writes if statistics else 0


def begin(namespace: Namespace, judged: JudgementSet, setting: Setting, *, by: str) -> Job:
    """Have a set asked, as a job."""
    params = {"set": str(judged.id), "system": setting.system.name, "params": deciding(setting)}
    return start(namespace, JobKind.TRACE, params, by=by)


def question(namespace: Namespace, judged: JudgedQuery, setting: Setting) -> Query:
    """A judged query as it is asked."""
    return Query(
        namespace=namespace, text=judged.text, setting=setting, top_k=DEPTH, user=judged.user, as_of=judged.as_of
    )


def ask(work: Work) -> None:
    """Ask what is not asked yet; a job that goes on keeps what it has."""
    fill(set_of(work, work.job.params), work.moved)


def fresh(namespace: Namespace, judged: JudgementSet, setting: Setting, tell: Tell = silent) -> TracedSet:
    """The set as it was asked since the last write and the last query added; asked here and now where it was not."""
    known = traced(namespace, judged, setting)
    if known is not None and known.writes == writes_of(namespace):
        queries = JudgedQuery.objects.within(namespace).filter(judgement_set_id=judged.id)
        asked = TracedQuery.objects.within(namespace).filter(traced_set=known)
        if not queries.exclude(id__in=asked.values("query_id")).exists():
            return known
    whole = begun(namespace, judged.id, setting.system.name, deciding(setting))
    whole.save(force_insert=True)
    fill(whole, tell)
    return whole


def fill(whole: TracedSet, tell: Tell) -> None:
    """Ask query by query, each kept as it is told of."""
    namespace, setting = whole.namespace, Setting(SYSTEMS[whole.system], whole.params)
    queries = list(JudgedQuery.objects.within(namespace).filter(judgement_set_id=whole.judgement_set_id).order_by("id"))
    known = set(TracedQuery.objects.within(namespace).filter(traced_set=whole).values_list("query_id", flat=True))
    for number, judged in enumerate(queries, start=1):
        if judged.id in known:
            continue
        row = asked(question(namespace, judged, setting), whole.id, judged.id)
        with transaction.atomic():
            row.save(force_insert=True)
            tell(number, len(queries), asked=1)
    with transaction.atomic():
        whole.ready_at = timezone.now()
        whole.save(update_fields=["ready_at"])
        superseded(whole).delete()
        tell(len(queries), len(queries))


def begun(namespace: Namespace, judged: UUID, system: str, params: Mapping[str, Any]) -> TracedSet:
    """A record with nothing in it yet."""
    return TracedSet(
        namespace=namespace, judgement_set_id=judged, system=system, params=params, writes=writes_of(namespace)
    )


def set_of(work: Work, wanted: Mapping[str, Any]) -> TracedSet:
    """The record that a job fills: its own where it goes on, else a new one."""
    if known := work.facts.get("traced_set"):
        return TracedSet.objects.within(work.namespace).get(id=known)
    whole = begun(work.namespace, UUID(wanted["set"]), wanted["system"], wanted["params"])
    with transaction.atomic():
        whole.save(force_insert=True)
        work.facts["traced_set"] = str(whole.id)
        work.moved(0)
    return whole


def superseded(whole: TracedSet) -> Any:
    """Earlier records of the same, and half-made ones of jobs that are gone."""
    same = TracedSet.objects.within(whole.namespace).filter(judgement_set_id=whole.judgement_set_id)
    return same.filter(system=whole.system, params=whole.params, begun_at__lt=whole.begun_at).exclude(id=whole.id)


def asked(query: Query, traced_set: UUID, judged: UUID) -> TracedQuery:
    """One query's candidates, packed as in a trace."""
    retrieval = retrieve(query)
    assert retrieval.reading is not None
    return TracedQuery(
        namespace=query.namespace,
        traced_set_id=traced_set,
        query_id=judged,
        plan=retrieval.planning.told(),
        candidates=[row["id"] for row in retrieval.batch.rows],
        signals=packed(retrieval.signals, retrieval.batch.marks, retrieval.reading.embedder),
        late=sorted(retrieval.found.late),
    )


STEPS: dict[str, Step] = {"ask": ask}
