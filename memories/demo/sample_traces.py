"""Traces of some judged queries, so that Traces and Health have data from the start."""

from itertools import cycle, groupby

from django.utils import timezone

from memories.demo.assessments import SET_NAME
from memories.models import JudgedQuery, JudgementSet, Namespace
from memories.models.choices import Role
from memories.retrieval import trace
from memories.retrieval.answer import build_answer
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Query
from memories.retrieval.retrieve import retrieve
from memories.web.api_keys import issue_key
from scoring.systems import SYSTEMS

PER_CATEGORY = 6  # queries
AGENT = "Maya's assistant"
BY_AGENT = (True, True, False)  # an agent asks two of three, somebody in the dashboard the third


def store_sample_traces(namespace: Namespace) -> None:
    """Retrieve and trace: every other query with the served configuration, the rest with each system in turn.

    No access is counted.
    """
    key, _ = issue_key(namespace, name=AGENT, role=Role.READ)  # its secret is not stored
    served = resolve_config(namespace, params={})
    defaults = (resolve_config(namespace, system=name, params={}) for name in SYSTEMS)
    configs, by_agent = cycle(config for default in defaults for config in (served, default)), cycle(BY_AGENT)
    for judged in queries_to_trace(namespace):
        query = Query(namespace=namespace, text=judged.text, config=next(configs), user=judged.user)
        retrieval = retrieve(query)
        trace.store_trace(retrieval, build_answer(retrieval), key=key.id if next(by_agent) else None)
    key.last_used_at = timezone.now()
    key.save(update_fields=["last_used_at"])


def queries_to_trace(namespace: Namespace) -> list[JudgedQuery]:
    """The first queries of each category, the categories taking turns."""
    judged = JudgementSet.objects.within(namespace).get(name=SET_NAME).queries.order_by("category", "id")
    categories = [list(queries)[:PER_CATEGORY] for _, queries in groupby(judged, key=lambda query: query.category)]
    return [query for turn in zip(*categories, strict=True) for query in turn]
