"""The pool of a set: what several settings find for its queries, united, so that people judge what is really found.

A setting whose hits nobody has graded is measured wrong; unjudged@k tells how wrong: the share of its first k hits
without a grade. Retrieval runs live, without a trace and without counting as an access.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memories.jobs.starting import start
from memories.jobs.work import Step, Work
from memories.judging.current import STANDING, asked
from memories.models import Job, JudgedQuery, JudgementSet, Namespace, PooledMemory
from memories.models.choices import JobKind, JobState
from memories.models.job import UNFINISHED
from memories.retrieval.query import Query, Setting, versioned
from memories.retrieval.reading import read
from memories.retrieval.retrieve import retrieve
from memories.retrieval.settings import SHIPPED, UnknownProfileError, setting
from scoring.params import ParamsError
from scoring.systems import SYSTEMS

K, MOST_K = 10, 50
MOST_SETTINGS = 10
AT_ONCE = 20  # queries between two looks at whether the worker stops
SHARES = f"""
    WITH RECURSIVE {STANDING}
    SELECT place.key, count(*), count(*) FILTER (WHERE s.query_id IS NULL)
    FROM memories_judgedquery q
    JOIN memories_pooledmemory p ON p.namespace_id = q.namespace_id AND p.query_id = q.id
    CROSS JOIN LATERAL jsonb_each(p.ranks) place
    LEFT JOIN (SELECT DISTINCT query_id, now_id FROM standing) s ON s.query_id = p.query_id AND s.now_id = p.memory_id
    WHERE q.namespace_id = %(namespace)s AND p.namespace_id = %(namespace)s AND q.judgement_set_id = ANY(%(sets)s)
        AND place.value::int <= %(k)s
    GROUP BY 1 ORDER BY 1
"""


@dataclass(frozen=True)
class Share:
    """How much of what a setting finds nobody has graded."""

    name: str
    found: int
    unjudged: int

    @property
    def share(self) -> float:
        """unjudged@k: of its first k hits over all queries, those without a grade."""
        return self.unjudged / self.found if self.found else 0.0


class SettingsError(ValueError):
    """Names that stand for no setting; what is wrong with each."""


def served(namespace: Namespace) -> str:
    """The name of what a namespace serves."""
    serving = namespace.serving
    version = serving.profile_version if serving else None
    return versioned(version.profile.name, version.number) if version else SHIPPED


def named(namespace: Namespace, name: str) -> Setting:
    """The setting behind a name: of a system, or of a profile's version."""
    if name in SYSTEMS:
        return setting(namespace, system=name, params={})
    return setting(namespace, profile=name, params={})


def names_of(namespace: Namespace, given: Sequence[str]) -> list[str]:
    """Names of settings, each once and with a profile's present version; without any, what serves."""
    names = []
    for name in given or [served(namespace)]:
        try:
            found = named(namespace, name)
        except UnknownProfileError as error:
            known = f"one of {', '.join(SYSTEMS)}, or a profile of this namespace"
            raise SettingsError(f"must be {known}; got {name}") from error
        except ParamsError as error:
            raise SettingsError(f"cannot be used as it stands: {error}; got {name}") from error
        names.append(found.by)
    return sorted(set(names), key=names.index)


def begin(judged: JudgementSet, names: Sequence[str], k: int, *, by: str) -> Job:
    """Have a set pooled by a worker; where the same waits or runs already, that job is given back."""
    params = {"set": str(judged.id), "settings": names_of(judged.namespace, names), "k": k}
    open = Job.objects.within(judged.namespace).filter(kind=JobKind.POOL, state__in=UNFINISHED, params=params)
    return open.first() or start(judged.namespace, JobKind.POOL, params, by=by)


def pool(work: Work) -> None:
    """Ask every query of the set by every setting; a query's pool is replaced whole."""
    params = work.job.params
    settings = {name: named(work.namespace, name) for name in params["settings"]}
    here = JudgedQuery.objects.within(work.namespace).filter(judgement_set_id=params["set"]).order_by("id")
    queries = list(here)
    for first in range(work.job.done, len(queries), AT_ONCE):
        for query in queries[first : first + AT_ONCE]:
            renew(query, ranks(work.namespace, query, settings, params["k"]))
        work.moved(min(first + AT_ONCE, len(queries)), len(queries))
    found = shares(work.namespace, UUID(params["set"]), params["k"])
    work.facts.update(
        unjudged={one.name: one.share for one in found if one.name in settings},
        queries=len(queries),
        at=timezone.now().isoformat(),
    )
    work.moved(len(queries), len(queries))


def ranks(
    namespace: Namespace, query: JudgedQuery, settings: Mapping[str, Setting], k: int
) -> dict[UUID, dict[str, int]]:
    """Each memory that a setting answers with, and its place there."""
    first = next(iter(settings.values()))
    question = Query(namespace=namespace, text=query.text, setting=first, top_k=k, user=query.user, as_of=query.as_of)
    reading = read(question)
    found: dict[UUID, dict[str, int]] = {}
    for name, by in settings.items():
        answer = retrieve(replace(question, setting=by), reading)
        rows = [] if answer.ranking.abstained else answer.ranking.order.rows.tolist()
        for place, row in enumerate(rows, start=1):
            found.setdefault(answer.batch.rows[row]["id"], {})[name] = place
    return found


@transaction.atomic
def renew(query: JudgedQuery, found: Mapping[UUID, Mapping[str, int]]) -> None:
    """Put a query's pool in the place of its last one, unless the query is gone meanwhile."""
    alive = JudgedQuery.objects.filter(namespace_id=query.namespace_id, id=query.id).select_for_update().exists()
    PooledMemory.objects.filter(namespace_id=query.namespace_id, query_id=query.id).delete()
    rows = (
        PooledMemory(
            namespace_id=query.namespace_id,
            query_id=query.id,
            memory_id=memory,
            ranks=places,
            found_by=len(places),
            best=min(places.values()),
        )
        for memory, places in found.items()
    )
    if alive:
        PooledMemory.objects.bulk_create(rows)


def shares(namespace: Namespace, set_id: UUID, k: int) -> list[Share]:
    """unjudged@k of every setting of the pool, by the grades of this moment."""
    return [Share(*row) for row in asked(SHARES, namespace, [set_id], k=k)]


def last_pools(namespace: Namespace, sets: Sequence[UUID]) -> dict[UUID, Job]:
    """The last finished pool of each set that has one."""
    done = Job.objects.within(namespace).filter(kind=JobKind.POOL, state=JobState.DONE)
    rows = done.filter(params__set__in=[str(id) for id in sets]).order_by("created_at", "id")
    return {UUID(job.params["set"]): job for job in rows}


def running(namespace: Namespace, set_id: UUID) -> Job | None:
    """The pool of a set that is being made."""
    open = Job.objects.within(namespace).filter(kind=JobKind.POOL, state__in=UNFINISHED, params__set=str(set_id))
    return open.order_by("created_at", "id").first()


STEPS: dict[str, Step] = {"pool": pool}
