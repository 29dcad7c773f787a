"""What was asked of the demo: some of its judged questions, really put, so that Traces and Health have what to tell."""

from itertools import cycle, groupby

from django.utils import timezone

from memories.demo.answers import NAME
from memories.models import JudgedQuery, JudgementSet, Namespace
from memories.models.choices import Role
from memories.retrieval import trace
from memories.retrieval.answer import answer_to_dict
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Query
from memories.retrieval.retrieve import retrieve
from memories.web.api_keys import issue
from scoring.systems import SYSTEMS

OF_EACH = 6  # questions of each category
AGENT = "Maya's assistant"
BY_AGENT = (True, True, False)  # two of three are an agent's, the third somebody's in the dashboard


def add(namespace: Namespace) -> None:
    """Put the questions, every other one as served and the rest by each system in turn; no access is counted."""
    key, _ = issue(namespace, name=AGENT, role=Role.READ)  # whose secret nobody keeps
    served = resolve_config(namespace, params={})
    others = (resolve_config(namespace, system=name, params={}) for name in SYSTEMS)
    ways, agents = cycle(way for other in others for way in (served, other)), cycle(BY_AGENT)
    for question in questions(namespace):
        query = Query(namespace=namespace, text=question.text, config=next(ways), user=question.user)
        retrieval = retrieve(query)
        trace.store_trace(retrieval, answer_to_dict(retrieval), key=key.id if next(agents) else None)
    key.last_used_at = timezone.now()
    key.save(update_fields=["last_used_at"])


def questions(namespace: Namespace) -> list[JudgedQuery]:
    """The first of each category, one category after the other in turn."""
    judged = JudgementSet.objects.within(namespace).get(name=NAME).queries.order_by("category", "id")
    each = [list(some)[:OF_EACH] for _, some in groupby(judged, key=lambda one: one.category)]
    return [one for turn in zip(*each, strict=True) for one in turn]
