"""Sampling of agents' queries from traces into a judgement set."""

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
MAX_TRACES = 100_000  # newest traces considered


def add_sampled_queries(
    judgement_set: JudgementSet, *, days: int, most: int, way: SamplingMethod, by: str
) -> StoredQueries:
    """Add distinct queries of the last days to a set, without judgements; existing ones are unchanged."""
    return store_queries(
        judgement_set, sample_traced_queries(judgement_set.namespace, days=days, most=most, way=way), by=by
    )


def sample_traced_queries(namespace: Namespace, *, days: int, most: int, way: SamplingMethod) -> list[NewQuery]:
    """The most frequent queries, or a deterministic sample regardless of frequency.

    Shadow traces and queries about the past (`as_of`) are excluded.
    """
    since = first_id_at(timezone.now() - timedelta(days=days))
    traces = Trace.objects.within(namespace).filter(shadow=False, id__gte=since, request__as_of=None)
    newest = (
        traces.order_by("-id").annotate(who=KeyTextTransform("user", "request")).values("query", "who")[:MAX_TRACES]
    )
    counts: dict[tuple[str, str], tuple[int, str]] = {}  # (text, user): frequency and newest spelling
    for row in newest:
        key = normalize(row["query"]), row["who"] or ""
        count, text = counts.get(key, (0, row["query"]))
        counts[key] = count + 1, text
    order = sorted(counts, key=lambda key: (-counts[key][0], key) if way == "frequent" else (0, hash_rank(*key)))
    return [NewQuery(counts[key][1], user=key[1]) for key in order[:most] if key[0]]


def hash_rank(text: str, user: str) -> tuple[str, str]:
    """Sort key of an even sample: pseudo-random and stable."""
    return hashlib.sha256(f"{text}\n{user}".encode()).hexdigest(), user
