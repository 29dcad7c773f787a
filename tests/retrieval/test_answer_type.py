"""The answer type a query expects, and which memories match it."""

from typing import Any

import numpy as np
import pytest

from memories.models import Namespace, TokenStates
from memories.retrieval.parse import understand
from memories.retrieval.query import Filters
from memories.retrieval.retrieve import Retrieval, retrieve
from memories.retrieval.trace_codec import decode_signals, pack_signals, unpack_arrays
from memories.writing.turns.conversation import Conversation, NewTurn
from memories.writing.turns.ingest import ingest
from scoring.without_retrievers import without_retrievers
from tests.support.retrieval_world import NOW, make_query

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


def run_query(world: Namespace, text: str) -> Retrieval:
    return retrieve(make_query(world, text, "blend"))


def by_text(retrieval: Retrieval, column: str) -> dict[str, Any]:
    texts = [row["content"] for row in retrieval.candidates.rows]
    return dict(zip(texts, getattr(retrieval.signals, column).tolist(), strict=True))


def test_a_query_for_a_number_is_not_answered_by_a_memory_without_one(world: Namespace) -> None:
    holds = by_text(run_query(world, "How much coffee does Maya drink?"), "answer_type_match")
    assert not holds["Maya drinks her coffee black and early"]
    assert holds["Arrive counts forty people in three cities"]
    assert holds["Invoicing stores its data in PostgreSQL 16"]


def test_where_no_kind_of_thing_is_asked_for_every_memory_holds_it(world: Namespace) -> None:
    assert all(by_text(run_query(world, "What does Maya drink?"), "answer_type_match").values())


def test_a_query_for_an_amount_that_was_never_stored_is_less_likely_answered(world: Namespace) -> None:
    free, dear = (run_query(world, f"What does the {thing} of invoicing do?") for thing in ("backup", "backup fee"))
    assert dear.ranking.answer_probability < free.ranking.answer_probability


def test_of_a_person_a_memory_about_them_counts_more_than_one_that_mentions_them(world: Namespace) -> None:
    answer_entity_match = by_text(run_query(world, "What does Maya prefer?"), "answer_entity_match")
    assert answer_entity_match["Maya prefers PostgreSQL for every new service"] == 1.0
    assert 0 < answer_entity_match["Priya reports to Maya since the summer"] < 1.0
    assert answer_entity_match["Arrive counts forty people in three cities"] == 0.0


def test_a_memory_of_another_person_is_told_from_one_of_nobody(world: Namespace) -> None:
    another = by_text(run_query(world, "What does Maya prefer?"), "about_another")
    assert not another["Maya prefers PostgreSQL for every new service"]
    assert not another["Priya reports to Maya since the summer"]  # it mentions her
    assert another["Jonas left Arrive for a bank in Oslo"]
    assert not another["Arrive counts forty people in three cities"]
    assert not any(by_text(run_query(world, "Who uses PostgreSQL?"), "about_another").values())


def test_what_another_person_says_is_about_another_person(world: Namespace) -> None:
    said = (("Maya Lindqvist", "My violin needs strings."), ("Jonas Ek", "My oboe needs reeds."))
    turns = [NewTurn(role="user", text=text, speaker=speaker, said_at=NOW) for speaker, text in said]
    ingest(world, Conversation(session="instruments", turns=turns), by="tests", extract=False)
    query = make_query(world, "What does Maya's oboe need?", "blend", filters=Filters(levels=("turn",)))
    another = by_text(retrieve(query), "about_another")
    assert not another["Maya Lindqvist: My violin needs strings."]
    assert another["Jonas Ek: My oboe needs reeds."]


def test_of_a_thing_a_mention_counts_as_much(world: Namespace) -> None:
    answer_entity_match = by_text(run_query(world, "Who uses PostgreSQL?"), "answer_entity_match")
    assert answer_entity_match["Maya prefers PostgreSQL for every new service"] == 1.0
    assert answer_entity_match["Invoicing stores its data in PostgreSQL 16"] == 1.0
    assert answer_entity_match["Maya drinks her coffee black and early"] == 0.0


def test_who_names_a_person_asks_about_the_person_whatever_else_is_named(world: Namespace) -> None:
    answer_entity_match = by_text(run_query(world, "When did Jonas leave Arrive?"), "answer_entity_match")
    assert answer_entity_match["Jonas left Arrive for a bank in Oslo"] == 1.0
    assert answer_entity_match["Arrive counts forty people in three cities"] == 0.0


def test_who_is_only_described_may_stand_elsewhere(world: Namespace) -> None:
    answer_entity_match = by_text(
        run_query(world, "Where did the person go who reports to Maya?"), "answer_entity_match"
    )
    assert set(answer_entity_match.values()) == {1.0}


def test_a_name_that_nobody_registered_must_be_said(world: Namespace) -> None:
    answer_entity_match = by_text(run_query(world, "What animal is Olle?"), "answer_entity_match")
    assert [text for text, fits in answer_entity_match.items() if fits] == ["The cat of the neighbours is called Olle"]


def test_a_name_that_no_memory_holds_is_a_word_like_others(world: Namespace) -> None:
    assert set(by_text(run_query(world, "How would one travel to Copenhagen?"), "answer_entity_match").values()) == {
        1.0
    }


def test_an_identifier_that_no_memory_holds_is_not_answered(world: Namespace) -> None:
    unknown = run_query(world, "What was PLAT-2000 about?")
    assert set(by_text(unknown, "answer_entity_match").values()) == {0.0}
    assert unknown.ranking.abstained


def test_an_identifier_says_all_that_is_asked_for(world: Namespace) -> None:
    assert understand(make_query(world, "Give me everything on PLAT-2000")).content_tokens() == []


def test_how_much_is_not_a_word_that_a_memory_must_meet(world: Namespace) -> None:
    reading = understand(make_query(world, "How much coffee?"))
    assert [
        [reading.embedded_text[slice(*reading.spans[token])] for token in tokens]
        for tokens, _ in reading.content_tokens()
    ] == [["coffee"]]


def test_where_no_words_are_stored_nothing_is_expected(world: Namespace) -> None:
    TokenStates.objects.within(world).delete()
    unknown = run_query(world, "What was PLAT-2000 about?")
    assert set(by_text(unknown, "answer_entity_match").values()) == {1.0}
    assert not unknown.ranking.abstained


def test_a_trace_from_before_expectations_fits_by_whom_it_names(world: Namespace) -> None:
    retrieval = run_query(world, "What does Maya prefer?")
    arrays, head = unpack_arrays(pack_signals(retrieval.signals, retrieval.candidates.fingerprints, "minilm"))
    older = {name: array for name, array in arrays.items() if name not in ("answer_entity_match", "answer_type_match")}
    signals = decode_signals(retrieval.signals.ids.tolist(), older, head, retrieval.signals.vectors)
    assert np.array_equal(signals.answer_entity_match > 0, signals.entity_match > 0)
    assert signals.answer_type_match.all()


def test_without_the_entity_retriever_nobody_is_known_to_be_named(world: Namespace) -> None:
    named, said = run_query(world, "What does Maya prefer?").signals, run_query(world, "What animal is Olle?").signals
    assert (without_retrievers(named, np.arange(len(named)), ["entity"]).answer_entity_match == 1.0).all()
    assert np.array_equal(
        without_retrievers(named, np.arange(len(named)), ["bm25"]).answer_entity_match, named.answer_entity_match
    )
    assert np.array_equal(
        without_retrievers(said, np.arange(len(said)), ["entity"]).answer_entity_match, said.answer_entity_match
    )
