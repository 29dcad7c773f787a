"""The pool of a set: what several settings find for its queries, united, so that people judge what is really found.

A setting whose hits nobody has graded is measured wrong; unjudged@k tells how wrong: the share of its first k hits
without a grade. Retrieval runs live, without a trace and without counting as an access.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memories.contracts.work import Step, Work
from memories.models import Job, JudgedQuery, Namespace, PooledMemory
from memories.models.choices import JobKind, JobState
from memories.models.job import UNFINISHED
from memories.retrieval.config import DEFAULT_SYSTEM, UnknownProfileError, resolve_config
from memories.retrieval.parse import understand
from memories.retrieval.query import Config, Query, profile_version_name
from memories.retrieval.retrieve import retrieve
from memories.tuning.current_grades import RESOLVED_JUDGEMENTS, fetch_judgement_rows
from scoring.params import ParamsError
from scoring.systems import SYSTEMS

DEFAULT_K, MAX_K = 10, 50
MAX_CONFIGS = 10
BATCH_SIZE = 20  # queries between two looks at whether the worker stops
UNJUDGED_SQL = f"""
    WITH RECURSIVE {RESOLVED_JUDGEMENTS}
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
class UnjudgedShare:
    """How much of what a setting finds nobody has graded."""

    name: str
    found: int
    unjudged: int

    @property
    def share(self) -> float:
        """unjudged@k: of its first k hits over all queries, those without a grade."""
        return self.unjudged / self.found if self.found else 0.0


class UnknownConfigError(ValueError):
    """Names that stand for no setting; what is wrong with each."""


def serving_config_name(namespace: Namespace) -> str:
    """The name of what a namespace serves."""
    serving = namespace.serving
    version = serving.profile_version if serving else None
    return profile_version_name(version.profile.name, version.number) if version else DEFAULT_SYSTEM


def config_by_name(namespace: Namespace, name: str) -> Config:
    """The setting behind a name: of a system, or of a profile's version."""
    if name in SYSTEMS:
        return resolve_config(namespace, system=name, params={})
    return resolve_config(namespace, profile=name, params={})


def config_names(namespace: Namespace, requested: Sequence[str]) -> list[str]:
    """Names of settings, each once and with a profile's present version; without any, what serves."""
    names = []
    for name in requested or [serving_config_name(namespace)]:
        try:
            found = config_by_name(namespace, name)
        except UnknownProfileError as error:
            known = f"one of {', '.join(SYSTEMS)}, or a profile of this namespace"
            raise UnknownConfigError(f"must be {known}; got {name}") from error
        except ParamsError as error:
            raise UnknownConfigError(f"cannot be used as it stands: {error}; got {name}") from error
        names.append(found.label)
    return sorted(set(names), key=names.index)


def pool_step(work: Work) -> None:
    """Ask every query of the set by every setting; a query's pool is replaced whole."""
    params = work.job.params
    configs = {name: config_by_name(work.namespace, name) for name in params["configs"]}
    here = JudgedQuery.objects.within(work.namespace).filter(judgement_set_id=params["set"]).order_by("id")
    queries = list(here)
    for first in range(work.job.done, len(queries), BATCH_SIZE):
        for query in queries[first : first + BATCH_SIZE]:
            replace_pool(query, pool_ranks(work.namespace, query, configs, params["k"]))
        work.record_progress(min(first + BATCH_SIZE, len(queries)), len(queries))
    found = unjudged_shares(work.namespace, UUID(params["set"]), params["k"])
    work.step_result.update(
        unjudged={one.name: one.share for one in found if one.name in configs},
        queries=len(queries),
        at=timezone.now().isoformat(),
    )
    work.record_progress(len(queries), len(queries))


def pool_ranks(
    namespace: Namespace, query: JudgedQuery, configs: Mapping[str, Config], k: int
) -> dict[UUID, dict[str, int]]:
    """Each memory that a setting answers with, and its place there."""
    first = next(iter(configs.values()))
    question = Query(namespace=namespace, text=query.text, config=first, top_k=k, user=query.user, as_of=query.as_of)
    reading = understand(question)
    found: dict[UUID, dict[str, int]] = {}
    for name, by in configs.items():
        answer = retrieve(replace(question, config=by), reading)
        rows = [] if answer.ranking.abstained else answer.ranking.order.rows.tolist()
        for place, row in enumerate(rows, start=1):
            found.setdefault(answer.candidates.rows[row]["id"], {})[name] = place
    return found


@transaction.atomic
def replace_pool(query: JudgedQuery, ranks: Mapping[UUID, Mapping[str, int]]) -> None:
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
        for memory, places in ranks.items()
    )
    if alive:
        PooledMemory.objects.bulk_create(rows)


def unjudged_shares(namespace: Namespace, set_id: UUID, k: int) -> list[UnjudgedShare]:
    """unjudged@k of every setting of the pool, by the grades of this moment."""
    return [UnjudgedShare(*row) for row in fetch_judgement_rows(UNJUDGED_SQL, namespace, [set_id], k=k)]


def latest_pools(namespace: Namespace, sets: Sequence[UUID]) -> dict[UUID, Job]:
    """The last finished pool of each set that has one."""
    done = Job.objects.within(namespace).filter(kind=JobKind.POOL, state=JobState.DONE)
    rows = done.filter(params__set__in=[str(id) for id in sets]).order_by("created_at", "id")
    return {UUID(job.params["set"]): job for job in rows}


def unfinished_pool_job(namespace: Namespace, set_id: UUID) -> Job | None:
    """The pool of a set that is being made."""
    open = Job.objects.within(namespace).filter(kind=JobKind.POOL, state__in=UNFINISHED, params__set=str(set_id))
    return open.order_by("created_at", "id").first()


STEPS: dict[str, Step] = {"pool": pool_step}
