"""What the Judgements page shows of a set, its pool and its queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlencode

from django.template.defaultfilters import pluralize

from memories.contracts.number_format import format_count
from memories.jobs.registry import job_completion
from memories.models import Job, JudgedQuery, Judgement, JudgementSet
from memories.models.choices import QueryKind, Split, Status
from memories.tuning import judgement_pooling, judging_queue
from memories.tuning.current_grades import COUNTED_STATUSES
from memories.tuning.judgement_pooling import UnjudgedShare
from memories.tuning.judgement_set_stats import JudgementSetStats
from memories.tuning.parsed_judgements import GRADES

KIND_LABELS = {QueryKind.ANSWERABLE: "answerable", QueryKind.UNANSWERABLE: "unanswerable"}


@dataclass(frozen=True)
class SetRow:
    """A set with what it holds, and how much of the serving configuration's hits is unjudged."""

    set: JudgementSet
    stats: JudgementSetStats
    pool_job: Job | None
    serving: str

    @property
    def unanswerable(self) -> int:
        """Unanswerable queries."""
        return self.stats.kinds[QueryKind.UNANSWERABLE]

    @property
    def excluded_grades(self) -> list[tuple[str, int]]:
        """Grades that no longer count, by their memory's status."""
        return sorted(self.stats.left_out.items())

    @property
    def excluded_total(self) -> int:
        """How many grades no longer count."""
        return sum(self.stats.left_out.values())

    @property
    def unjudged_share(self) -> float | None:
        """unjudged@k of the serving configuration, as of the last pool."""
        shares = self.pool_job.result.get("pool", {}).get("unjudged", {}) if self.pool_job else {}
        share: float | None = shares.get(self.serving)
        return share

    @property
    def pool_state(self) -> str:
        """Why there is no unjudged@k."""
        return "not pooled" if self.pool_job else "no pool"

    @property
    def headline(self) -> str:
        """How many queries and grades it holds."""
        queries, grades = self.stats.queries, self.stats.grades
        return f"{query_count(queries)}, {format_count(grades)} grade{pluralize(grades)} that count"

    @property
    def tune_percent(self) -> float:
        """Share of tune queries, in percent."""
        return 100 * self.stats.splits[Split.TUNE] / (self.stats.queries or 1)

    @property
    def holdout_percent(self) -> float:
        """Share of holdout queries, in percent."""
        return 100 * self.stats.splits[Split.HOLDOUT] / (self.stats.queries or 1)


@dataclass(frozen=True)
class PoolPanel:
    """The pool of a set: the job in progress, the last one, and what is left to judge."""

    set: JudgementSet
    serving: str
    job: Job | None  # unfinished
    last: Job | None
    counted: bool  # False while a large pool is still to be counted
    shares: Sequence[UnjudgedShare] = ()
    pending: int = 0  # pairs to judge

    @classmethod
    def load(cls, judgement_set: JudgementSet, *, count: bool = True) -> "PoolPanel":
        """The pool of a set; counting it takes a moment for a large set."""
        namespace = judgement_set.namespace
        serving = judgement_pooling.serving_config_name(namespace)
        job = judgement_pooling.unfinished_pool_job(namespace, judgement_set.id)
        last = judgement_pooling.latest_pools(namespace, [judgement_set.id]).get(judgement_set.id)
        if not count:
            return cls(judgement_set, serving, job, last, counted=False)
        shares = judgement_pooling.unjudged_shares(namespace, judgement_set.id, pool_depth(last))
        pending = judging_queue.unjudged_pairs(namespace, judgement_set.id, 1)
        return cls(
            judgement_set,
            serving,
            job,
            last,
            counted=True,
            shares=sorted(shares, key=lambda share: share.share),
            pending=pending[0].left if pending else 0,
        )

    @property
    def k(self) -> int:
        """Hits taken of each configuration."""
        return pool_depth(self.last)

    @property
    def chosen_configs(self) -> list[str]:
        """Configurations of the last pool, or the serving one."""
        return list(self.last.params["configs"]) if self.last else [self.serving]

    @property
    def percent(self) -> float:
        """Progress of the job."""
        return 100 * job_completion(self.job) if self.job else 0.0

    @property
    def headline(self) -> str:
        """The state of the pool."""
        if self.job:
            total = f" of {format_count(self.job.total)}" if self.job.total else ""
            return f"Pooling: {format_count(self.job.done)}{total} queries run"
        if not self.counted:
            return "Counting the pool …"
        if not self.shares:
            return "This set is not pooled yet"
        if self.pending:
            return f"{format_count(self.pending)} pair{pluralize(self.pending)} to judge"
        return "Every pooled result is judged"

    @property
    def may_be_judged(self) -> bool:
        """Whether there are pairs to judge, as far as known."""
        return bool(self.pending or (not self.counted and self.last))

    @property
    def htmx_trigger(self) -> str:
        """When htmx loads the panel again: while a job runs, or once to count."""
        return "recall:poll" if self.job else "" if self.counted else "load"


def pool_depth(last: Job | None) -> int:
    """How many hits of each configuration the last pool took."""
    return int(last.params["k"]) if last else judgement_pooling.DEFAULT_K


@dataclass(frozen=True)
class GradeRow:
    """One grade of a query."""

    judgement: Judgement

    @property
    def is_forgotten(self) -> bool:
        """Whether the memory was forgotten, so that its text is gone."""
        return self.judgement.memory.status == Status.FORGOTTEN

    @property
    def status(self) -> str:
        """The memory's status, unless it is active."""
        status = str(self.judgement.memory.status)
        return "" if status == Status.ACTIVE else status


@dataclass(frozen=True)
class QueryRow:
    """A judged query with its grades."""

    query: JudgedQuery

    @cached_property
    def grades(self) -> list[GradeRow]:
        """Its grades, best first."""
        return [GradeRow(judgement) for judgement in self.query.judgements.all()]

    @property
    def grade_counts(self) -> list[tuple[int, int]]:
        """How many memories have each grade."""
        given = [row.judgement.grade for row in self.grades]
        return [(grade, given.count(grade)) for grade in reversed(GRADES) if grade in given]

    @property
    def gone_memories(self) -> int:
        """Graded memories that no longer count."""
        return sum(row.judgement.memory.status not in (*COUNTED_STATUSES, Status.MERGED) for row in self.grades)

    @property
    def is_holdout(self) -> bool:
        """Whether it is in the holdout split."""
        return self.query.split == Split.HOLDOUT

    @property
    def is_unanswerable(self) -> bool:
        """Whether its answer was never stored."""
        return self.query.kind == QueryKind.UNANSWERABLE

    @property
    def lab_query(self) -> str:
        """Query string that runs it in the Lab."""
        values: dict[str, Any] = {"query": self.query.text, "user": self.query.user}
        values["as_of"] = self.query.as_of.date().isoformat() if self.query.as_of else ""
        return urlencode({name: value for name, value in values.items() if value}, quote_via=quote)


def query_count(queries: int) -> str:
    """A number of queries in words."""
    return f"{format_count(queries)} quer{pluralize(queries, 'y,ies')}"
