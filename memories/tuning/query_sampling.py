"""Queries that agents really asked, drawn from traces into a set, to be judged."""

import hashlib
from datetime import timedelta
from typing import Literal, get_args

from django.db.models.fields.json import KeyTextTransform
from django.utils import timezone

from memories.db.ids import first_id_at
from memories.models import JudgementSet, Namespace, Trace
from memories.tuning.judgement_store import NewQuery, StoredQueries, store_queries
from scoring.dedup import normalize

SamplingMethod = Literal["frequent", "even"]
SAMPLING_METHODS: tuple[SamplingMethod, ...] = get_args(SamplingMethod)
MAX_QUERIES, MAX_DAYS = 1_000, 365
MAX_TRACES = 100_000  # traces, the newest


def add_sampled_queries(
    judgement_set: JudgementSet, *, days: int, most: int, way: SamplingMethod, by: str
) -> StoredQueries:
    """Put distinct queries of the last days into a set, without judgements; those it has stay as they are."""
    return store_queries(
        judgement_set, sample_traced_queries(judgement_set.namespace, days=days, most=most, way=way), by=by
    )


def sample_traced_queries(namespace: Namespace, *, days: int, most: int, way: SamplingMethod) -> list[NewQuery]:
    """The queries asked most often, or a sample that does not care how often: the same one whenever it is drawn.

    What was asked only to compare is no agent's, and a question about the past is another than the same one today.
    """
    since = first_id_at(timezone.now() - timedelta(days=days))
    asked = Trace.objects.within(namespace).filter(shadow=False, id__gte=since, request__as_of=None)
    newest = asked.order_by("-id").annotate(who=KeyTextTransform("user", "request")).values("query", "who")[:MAX_TRACES]
    counted: dict[tuple[str, str], tuple[int, str]] = {}
    for row in newest:
        key = normalize(row["query"]), row["who"] or ""
        times, text = counted.get(key, (0, row["query"]))
        counted[key] = times + 1, text
    order = sorted(counted, key=lambda key: (-counted[key][0], key) if way == "frequent" else (0, hash_rank(*key)))
    return [NewQuery(counted[key][1], user=key[1]) for key in order[:most] if key[0]]


def hash_rank(text: str, user: str) -> tuple[str, str]:
    """A query's place in an even sample: as good as random, and always the same."""
    return hashlib.sha256(f"{text}\n{user}".encode()).hexdigest(), user
