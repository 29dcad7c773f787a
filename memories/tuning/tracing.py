"""A judged set asked once: every query's candidates and what is known of them, kept to be ranked again and again."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple, Protocol
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
VARIANTS = 6  # of a system's candidates for which a set is kept asked, the newest
ABANDONED = timedelta(days=1)  # after which nobody goes on with a half-asked set


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


class Age(NamedTuple):
    """What came since a set was asked, and how many of its queries were answered without a retriever that was late."""

    writes: int
    queries: int
    late: int

    @property
    def current(self) -> bool:
        """Whether it would be asked the same today: the one rule for all who measure on it."""
        return not self.writes and not self.queries


def age(whole: TracedSet) -> Age:
    """How old a set is by now."""
    mine = TracedQuery.objects.within(whole.namespace).filter(traced_set_id=whole.id)
    queries = JudgedQuery.objects.within(whole.namespace).filter(judgement_set_id=whole.judgement_set_id)
    return Age(
        writes_of(whole.namespace) - whole.writes,
        queries.exclude(id__in=mine.values("query_id")).count(),
        mine.exclude(late=[]).count(),
    )


def current(namespace: Namespace, judged: JudgementSet, setting: Setting) -> TracedSet | None:
    """The set as it was asked under the candidates of a setting, unless something came since."""
    known = traced(namespace, judged, setting)
    return known if known is not None and age(known).current else None


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
    if (known := current(namespace, judged, setting)) is not None:
        return known
    whole = begun(namespace, judged.id, setting.system.name, deciding(setting))
    whole.save(force_insert=True)
    fill(whole, tell)
    latest = traced(namespace, judged, setting)  # somebody else's, where that was begun later
    assert latest is not None
    return latest


def fill(whole: TracedSet, tell: Tell) -> None:
    """Ask query by query, each kept as it is told of; those that a retriever was late for once more."""
    namespace, setting = whole.namespace, Setting(SYSTEMS[whole.system], whole.params)
    queries = list(JudgedQuery.objects.within(namespace).filter(judgement_set_id=whole.judgement_set_id).order_by("id"))
    mine = TracedQuery.objects.within(namespace).filter(traced_set_id=whole.id)
    known = set(mine.values_list("query_id", flat=True))
    for number, judged in enumerate(queries, start=1):
        if judged.id in known:
            continue
        row = asked(question(namespace, judged, setting), whole.id, judged.id)
        with transaction.atomic():
            row.save(force_insert=True)
            tell(number, len(queries), asked=1)
    for row in mine.exclude(late=[]).select_related("query"):
        again = asked(question(namespace, row.query, setting), whole.id, row.query_id)
        with transaction.atomic():
            if len(again.late) < len(row.late):
                mine.filter(id=row.id).delete()
                again.save(force_insert=True)
            tell(len(queries), len(queries), asked_again=1, late=int(bool(again.late)))
    with transaction.atomic():
        whole.ready_at = timezone.now()
        whole.save(update_fields=["ready_at"])
        tidy(whole)
        tell(len(queries), len(queries))


def begun(namespace: Namespace, judged: UUID, system: str, params: Mapping[str, Any]) -> TracedSet:
    """A record with nothing in it yet."""
    return TracedSet(
        namespace=namespace, judgement_set_id=judged, system=system, params=params, writes=writes_of(namespace)
    )


def set_of(work: Work, wanted: Mapping[str, Any]) -> TracedSet:
    """The record that a job fills: its own where it goes on, else a new one."""
    mine = work.facts.get("traced_set")
    if mine and (known := TracedSet.objects.within(work.namespace).filter(id=mine).first()):
        return known
    whole = begun(work.namespace, UUID(wanted["set"]), wanted["system"], wanted["params"])
    with transaction.atomic():
        whole.save(force_insert=True)
        work.facts["traced_set"] = str(whole.id)
        work.moved(0)
    return whole


def tidy(whole: TracedSet) -> None:
    """Let go of what nobody measures on: earlier askings of the same, variants past the newest, and abandoned ones."""
    same = TracedSet.objects.within(whole.namespace).filter(judgement_set_id=whole.judgement_set_id)
    ready = same.filter(system=whole.system, ready_at__isnull=False)
    newest: dict[str, UUID] = {}
    for id, params in ready.order_by("-begun_at", "-id").values_list("id", "params"):
        newest.setdefault(json.dumps(params, sort_keys=True), id)
    ready.exclude(id__in=list(newest.values())[:VARIANTS]).delete()
    same.filter(ready_at__isnull=True, begun_at__lt=timezone.now() - ABANDONED).exclude(id=whole.id).delete()


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
