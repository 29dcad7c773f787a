"""Pooling: the union of the results of several configurations for each query of a set, to be judged.

Unjudged results make a measurement unreliable; unjudged@k is the share of a configuration's first k results without a
grade. Retrieval runs live, without a trace and without counting as an access.
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
from memories.retrieval.config import UnknownProfileError, default_config, resolve_config
from memories.retrieval.parse import understand
from memories.retrieval.query import Config, Query, profile_version_name
from memories.retrieval.retrieve import retrieve
from memories.tuning.current_grades import RESOLVED_JUDGEMENTS, fetch_judgement_rows
from scoring.params import ParamsError
from scoring.systems import SYSTEMS

DEFAULT_K, MAX_K = 10, 50
MAX_CONFIGS = 10
BATCH_SIZE = 20  # queries between progress updates
UNJUDGED_SQL = f"""
    WITH RECURSIVE {RESOLVED_JUDGEMENTS}
    SELECT rank.key, count(*), count(*) FILTER (WHERE s.query_id IS NULL)
    FROM memories_judgedquery q
    JOIN memories_pooledmemory p ON p.namespace_id = q.namespace_id AND p.query_id = q.id
    CROSS JOIN LATERAL jsonb_each(p.ranks) rank
    LEFT JOIN (SELECT DISTINCT query_id, current_id FROM resolved) s
        ON s.query_id = p.query_id AND s.current_id = p.memory_id
    WHERE q.namespace_id = %(namespace)s AND p.namespace_id = %(namespace)s AND q.judgement_set_id = ANY(%(sets)s)
        AND rank.value::int <= %(k)s
    GROUP BY 1 ORDER BY 1
"""


@dataclass(frozen=True)
class UnjudgedShare:
    """The share of a configuration's results that are unjudged."""

    name: str
    found: int  # results pooled
    unjudged: int

    @property
    def share(self) -> float:
        """unjudged@k: the share of its first k results over all queries without a grade."""
        return self.unjudged / self.found if self.found else 0.0


class UnknownConfigError(ValueError):
    """A name that no configuration has."""


def serving_config_name(namespace: Namespace) -> str:
    """The name of the serving configuration."""
    serving = namespace.serving
    version = serving.profile_version if serving else None
    return profile_version_name(version.profile.name, version.number) if version else default_config(namespace).label


def config_by_name(namespace: Namespace, name: str) -> Config:
    """The configuration of a name, which is a system or a profile version."""
    if name in SYSTEMS:
        return resolve_config(namespace, system=name, params={})
    return resolve_config(namespace, profile=name, params={})


def config_names(namespace: Namespace, requested: Sequence[str]) -> list[str]:
    """Distinct names with their versions; by default the serving configuration."""
    names = []
    for name in requested or [serving_config_name(namespace)]:
        try:
            config = config_by_name(namespace, name)
        except UnknownProfileError as error:
            allowed = f"one of {', '.join(SYSTEMS)}, or a profile of this namespace"
            raise UnknownConfigError(f"must be {allowed}; got {name}") from error
        except ParamsError as error:
            raise UnknownConfigError(f"cannot be used: {error}; got {name}") from error
        names.append(config.label)
    return sorted(set(names), key=names.index)


def pool_step(work: Work) -> None:
    """Retrieve every query of the set under every configuration, and replace its pool."""
    params = work.job.params
    configs = {name: config_by_name(work.namespace, name) for name in params["configs"]}
    rows = JudgedQuery.objects.within(work.namespace).filter(judgement_set_id=params["set"]).order_by("id")
    queries = list(rows)
    for first in range(work.job.done, len(queries), BATCH_SIZE):
        for query in queries[first : first + BATCH_SIZE]:
            replace_pool(query, pool_ranks(work.namespace, query, configs, params["k"]))
        work.record_progress(min(first + BATCH_SIZE, len(queries)), len(queries))
    shares = unjudged_shares(work.namespace, UUID(params["set"]), params["k"])
    work.step_result.update(
        unjudged={share.name: share.share for share in shares if share.name in configs},
        queries=len(queries),
        at=timezone.now().isoformat(),
    )
    work.record_progress(len(queries), len(queries))


def pool_ranks(
    namespace: Namespace, query: JudgedQuery, configs: Mapping[str, Config], k: int
) -> dict[UUID, dict[str, int]]:
    """The rank of each returned memory under each configuration."""
    first = next(iter(configs.values()))
    request = Query(namespace=namespace, text=query.text, config=first, top_k=k, user=query.user, as_of=query.as_of)
    parsed = understand(request)
    ranks: dict[UUID, dict[str, int]] = {}
    for name, config in configs.items():
        retrieval = retrieve(replace(request, config=config), parsed)
        rows = [] if retrieval.ranking.abstained else retrieval.ranking.order.rows[:k].tolist()
        for rank, row in enumerate(rows, start=1):
            ranks.setdefault(retrieval.candidates.rows[row]["id"], {})[name] = rank
    return ranks


@transaction.atomic
def replace_pool(query: JudgedQuery, ranks: Mapping[UUID, Mapping[str, int]]) -> None:
    """Replace a query's pool, unless the query was deleted meanwhile."""
    exists = JudgedQuery.objects.filter(namespace_id=query.namespace_id, id=query.id).select_for_update().exists()
    PooledMemory.objects.filter(namespace_id=query.namespace_id, query_id=query.id).delete()
    rows = (
        PooledMemory(
            namespace_id=query.namespace_id,
            query_id=query.id,
            memory_id=memory,
            ranks=rank_by_config,
            found_by=len(rank_by_config),
            best=min(rank_by_config.values()),
        )
        for memory, rank_by_config in ranks.items()
    )
    if exists:
        PooledMemory.objects.bulk_create(rows)


def unjudged_shares(namespace: Namespace, set_id: UUID, k: int) -> list[UnjudgedShare]:
    """unjudged@k of every pooled configuration, by current grades."""
    return [UnjudgedShare(*row) for row in fetch_judgement_rows(UNJUDGED_SQL, namespace, [set_id], k=k)]


def latest_pools(namespace: Namespace, sets: Sequence[UUID]) -> dict[UUID, Job]:
    """The last finished pool of each set that has one."""
    done = Job.objects.within(namespace).filter(kind=JobKind.POOL, state=JobState.DONE)
    rows = done.filter(params__set__in=[str(id) for id in sets]).order_by("created_at", "id")
    return {UUID(job.params["set"]): job for job in rows}


def unfinished_pool_job(namespace: Namespace, set_id: UUID) -> Job | None:
    """The unfinished pooling job of a set, if any."""
    jobs = Job.objects.within(namespace).filter(kind=JobKind.POOL, state__in=UNFINISHED, params__set=str(set_id))
    return jobs.order_by("created_at", "id").first()


STEPS: dict[str, Step] = {"pool": pool_step}
