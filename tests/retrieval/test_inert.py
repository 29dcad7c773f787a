"""Parameters that select candidates and are declared inert change no candidate and no result."""

from dataclasses import replace
from typing import Any

import pytest

from memories.models import Namespace
from memories.retrieval.config import override_params
from memories.retrieval.inert import inert_reasons
from memories.retrieval.parse import ParsedQuery, understand
from memories.retrieval.query import Query
from memories.retrieval.retrieve import retrieve
from scoring.params import Choice, Inert, Number, ParamsError
from scoring.systems import SYSTEMS
from tests.support.retrieval_world import EVERYTHING, make_query

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

# adaptive declares what recall declares.
CASES = [
    (system, inert)
    for system in ("recall", "memorysync", "blend")
    for inert in SYSTEMS[system].params.inert
    if any(SYSTEMS[system].params.declarations()[name].scope == "candidates" for name in inert.names)
]


def results(query: Query, parsed: ParsedQuery) -> list[tuple[Any, ...]]:
    """The results of a query with their scores, and the probability that the first one answers it."""
    retrieval = retrieve(query, parsed)
    rows = retrieval.ranking.order.rows
    scores = retrieval.ranking.score.value[rows].tolist()
    found = zip(retrieval.signals.ids[rows].tolist(), scores, strict=True)
    return [*found, (retrieval.ranking.answer_probability, retrieval.ranking.abstained)]


@pytest.mark.parametrize(("system", "inert"), CASES, ids=[f"{system}: {inert.reason}" for system, inert in CASES])
def test_a_candidate_parameter_that_is_inert_changes_no_result(world: Namespace, system: str, inert: Inert) -> None:
    forced = {name: values[0] for name, values in inert.when.items()}
    query = make_query(world, EVERYTHING, system, params=forced)
    parsed = understand(query)
    before, declared = results(query, parsed), query.config.system.params.declarations()
    assert len(before) > 3
    for name in inert.names:
        one = declared[name]
        if one.scope != "candidates":
            continue
        assert name in inert_reasons(query.config)
        values = (one.low, one.high) if isinstance(one, Number) else one.options if isinstance(one, Choice) else ()
        assert values
        for value in values:
            try:
                config = override_params(query.config, {name: value})
            except ParamsError:
                continue
            assert results(replace(query, config=config), parsed) == before, (name, value)


def test_a_plan_weight_is_inert_while_the_request_gives_the_weight_itself(world: Namespace) -> None:
    given = inert_reasons(make_query(world, EVERYTHING, "recall", params={"weight_entity": 1.5}).config)
    assert given["entity_plan_weight"] == "weight_entity is given, and it overrides the plan's"
    assert "entity_plan_weight" not in inert_reasons(make_query(world, EVERYTHING, "recall").config)


def test_without_a_cross_encoder_its_depth_is_inert(world: Namespace, settings: Any) -> None:
    config = make_query(world, EVERYTHING, "recall").config
    assert inert_reasons(config)["rerank_top"] == "no cross-encoder is configured"
    settings.RECALL_RERANKER = "a cross-encoder"
    assert "rerank_top" not in inert_reasons(config)
