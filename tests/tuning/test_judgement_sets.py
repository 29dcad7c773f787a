"""Judgement sets: splits, grades that hold today, and imports of queries."""

import io
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import pytrec_eval
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries
from rest_framework.exceptions import ValidationError

from memories.demo.world_records import read_demo_world
from memories.models import JudgedQuery, Judgement, JudgementSet, Memory, Namespace, Trace
from memories.models.choices import QueryKind, Split, Status
from memories.tuning import current_grades, judgement_export, query_sampling, trec
from memories.tuning.judgement_set_stats import judgement_set_stats
from memories.tuning.judgement_store import NewQuery, store_grades, store_queries
from memories.tuning.splits import TUNE_SHARE, split_of
from memories.web.judgement_import import parse_judgement_items, parse_judgement_lines, valid_queries
from memories.web.validation_errors import flatten_errors
from tests.support.rows import empty_namespace, row
from tests.support.statements import without_namespace

pytestmark = pytest.mark.django_db


@pytest.fixture
def namespace() -> Namespace:
    return empty_namespace("here")


@pytest.fixture
def judgement_set(namespace: Namespace) -> JudgementSet:
    return JudgementSet.objects.create(namespace=namespace, name="set")


def memory(namespace: Namespace, **given: Any) -> UUID:
    id: UUID = row(Memory, namespace, **given).id
    return id


def merged_memory(namespace: Namespace, into: UUID) -> UUID:
    return memory(namespace, status=Status.MERGED, merged_into_id=into)


# Which side


GOLDEN = {
    "Which database for the billing service?": Split.TUNE,
    "Who reviews schema changes?": Split.TUNE,
    "What did the team agree on in Lisbon?": Split.TUNE,
    "": Split.HOLDOUT,
}


def test_a_query_lies_on_one_side_for_ever() -> None:
    assert {text: split_of(text) for text in GOLDEN} == GOLDEN


def test_spelling_does_not_move_a_query_to_the_other_side() -> None:
    for text in GOLDEN:
        assert split_of(f"  {text.upper()}  ") == split_of(text)


def test_about_seven_in_ten_are_tuned_on() -> None:
    tuned = sum(split_of(f"question number {number}") == Split.TUNE for number in range(5_000))
    assert tuned / 5_000 == pytest.approx(TUNE_SHARE, abs=0.02)


def test_the_demo_has_both_sides() -> None:
    parts = [split_of(query.query) for query in read_demo_world().queries]
    assert (parts.count(Split.TUNE), parts.count(Split.HOLDOUT)) == (115, 48)


# What holds today


def test_a_grade_of_a_merged_memory_counts_for_what_absorbed_it_and_the_higher_one_wins(
    namespace: Namespace, judgement_set: JudgementSet
) -> None:
    survivor = memory(namespace)
    absorbed = merged_memory(namespace, survivor)
    first = merged_memory(namespace, absorbed)  # a chain of two
    given = {survivor: 1, absorbed: 2, first: 3}
    (query,) = store_queries(judgement_set, [NewQuery("Which one?", grades=given)], by="maya").queries
    graded = current_grades.load_grades(namespace, judgement_set.id)
    assert graded.grades == {query.id: {survivor: 3}}
    assert graded.queries[0].merged == {absorbed: survivor, first: survivor}
    assert (graded.merged, graded.left_out, graded.queries_without_answers) == (2, {}, [])


def test_a_superseded_memory_keeps_its_grade_and_is_reported_as_such(
    namespace: Namespace, judgement_set: JudgementSet
) -> None:
    new = memory(namespace)
    old = memory(namespace, status=Status.SUPERSEDED, superseded_by_id=new)
    store_queries(judgement_set, [NewQuery("Which one?", grades={old: 2})], by="maya")
    (one,) = current_grades.load_grades(namespace, judgement_set.id).queries
    assert (one.grades, one.superseded, one.left_out) == ({old: 2}, {old}, {})


@pytest.mark.parametrize("status", [Status.FORGOTTEN, Status.REJECTED, Status.ARCHIVED])
def test_what_cannot_come_back_is_left_out_and_counted(
    namespace: Namespace, judgement_set: JudgementSet, status: Status
) -> None:
    stays, goes = memory(namespace), memory(namespace)
    store_queries(
        judgement_set, [NewQuery("Both", grades={stays: 1, goes: 3}), NewQuery("One", grades={goes: 3})], by="maya"
    )
    Memory.objects.filter(id=goes).update(status=status)
    graded = current_grades.load_grades(namespace, judgement_set.id)
    both, one = graded.queries
    assert both.grades == {stays: 1}
    assert graded.left_out == {status: 2}
    assert not both.lost_answers
    assert [lost.query.text for lost in graded.queries_without_answers] == ["One"]
    assert one.left_out == {goes: status}


def test_a_memory_merged_into_one_that_was_forgotten_is_left_out(
    namespace: Namespace, judgement_set: JudgementSet
) -> None:
    survivor = memory(namespace, status=Status.FORGOTTEN)
    store_queries(judgement_set, [NewQuery("Which?", grades={merged_memory(namespace, survivor): 3})], by="maya")
    graded = current_grades.load_grades(namespace, judgement_set.id)
    assert graded.left_out == {Status.FORGOTTEN: 1}
    assert len(graded.queries_without_answers) == 1


def test_a_query_that_nobody_has_judged_is_not_lost(namespace: Namespace, judgement_set: JudgementSet) -> None:
    known = memory(namespace)
    never = NewQuery("Never", kind=QueryKind.UNANSWERABLE, grades={known: 0})
    store_queries(judgement_set, [NewQuery("Open"), never, NewQuery("Only wrong ones", grades={known: 0})], by="maya")
    open, unstored, wrong = current_grades.load_grades(namespace, judgement_set.id).queries
    assert [one.lost_answers for one in (open, unstored, wrong)] == [False, False, False]
    assert [one.unjudged for one in (open, unstored, wrong)] == [True, False, False]


def fill_judgement_set(namespace: Namespace, judgement_set: JudgementSet, queries: int, grades: int) -> None:
    known = [memory(namespace) for _ in range(grades)]
    known[0] = merged_memory(namespace, known[1])
    brought = [NewQuery(f"query {number}", grades=dict.fromkeys(known, 1)) for number in range(queries)]
    store_queries(judgement_set, brought, by="maya")


def test_a_set_of_any_size_is_read_in_two_sql_queries(
    namespace: Namespace, judgement_set: JudgementSet, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    fill_judgement_set(namespace, judgement_set, 300, 10)
    with django_assert_num_queries(2):
        graded = current_grades.load_grades(namespace, judgement_set.id)
    assert len(graded.queries) == 300
    assert sum(map(len, graded.grades.values())) == 300 * 9


def test_the_tally_of_many_sets_agrees_with_each_read_by_itself(
    namespace: Namespace, judgement_set: JudgementSet, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    fill_judgement_set(namespace, judgement_set, 20, 3)
    other = JudgementSet.objects.create(namespace=namespace, name="other")
    gone, old = memory(namespace), memory(namespace, status=Status.SUPERSEDED, superseded_by_id=memory(namespace))
    store_queries(
        other, [NewQuery("a", grades={gone: 2}), NewQuery("b", grades={old: 1, gone: 0}), NewQuery("c")], by="maya"
    )
    Memory.objects.filter(id=gone).update(status=Status.FORGOTTEN)
    with django_assert_num_queries(2):
        told = judgement_set_stats(namespace, [judgement_set.id, other.id])
    for one in (judgement_set, other):
        graded, tally = current_grades.load_grades(namespace, one.id), told[one.id]
        assert tally.queries == len(graded.queries)
        assert tally.unjudged == sum(query.unjudged for query in graded.queries)
        assert (tally.without_answers, tally.left_out, tally.superseded) == (
            len(graded.queries_without_answers),
            graded.left_out,
            graded.superseded,
        )
        assert tally.merged == graded.merged
    assert told[other.id].without_answers == 1
    assert told[judgement_set.id].splits[Split.TUNE] == sum(split_of(f"query {n}") == Split.TUNE for n in range(20))


# Keeping


def test_a_query_is_kept_once_and_its_last_grade_counts(namespace: Namespace, judgement_set: JudgementSet) -> None:
    known = memory(namespace)
    first = store_queries(judgement_set, [NewQuery("Which?", category="hop", grades={known: 1})], by="maya")
    again = store_queries(
        judgement_set, [NewQuery("Which?", grades={known: 3}), NewQuery("Which?", user="jonas")], by="jonas"
    )
    assert (first.added, again.added) == (1, 1)
    assert again.queries[0].id == first.queries[0].id
    kept = Judgement.objects.get()
    assert (kept.grade, kept.judged_by, kept.query.category) == (3, "jonas", "hop")


def test_a_unanswerable_query_that_a_memory_answers_was_stored_after_all(
    namespace: Namespace, judgement_set: JudgementSet
) -> None:
    known = memory(namespace)
    (query,) = store_queries(judgement_set, [NewQuery("Which?", kind=QueryKind.UNANSWERABLE)], by="maya").queries
    store_grades(judgement_set, {(query.id, known): 0}, by="maya")
    assert JudgedQuery.objects.get().kind == QueryKind.UNANSWERABLE
    store_grades(judgement_set, {(query.id, known): 2}, by="maya")
    assert JudgedQuery.objects.get().kind == QueryKind.ANSWERABLE


@pytest.mark.django_db(transaction=True)
def test_sixteen_graders_at_once_leave_one_grade_for_each_pair() -> None:
    here = empty_namespace("here")
    judged = JudgementSet.objects.create(namespace=here, name="set")
    known = [memory(here) for _ in range(3)]

    def judge(number: int) -> None:
        try:
            for one in known if number % 2 else reversed(known):
                store_queries(judged, [NewQuery("Which?", grades={one: number % 4})], by=f"grader {number}")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(16) as graders:
        list(graders.map(judge, range(16)))
    assert JudgedQuery.objects.count() == 1
    assert sorted(Judgement.objects.values_list("memory_id", flat=True)) == sorted(known)


# Lines of JSON


def lines_of(*bodies: Any) -> io.BytesIO:
    return io.BytesIO("\n".join(one if isinstance(one, str) else json.dumps(one) for one in bodies).encode())


def test_a_file_names_memories_by_id_or_by_their_words(namespace: Namespace) -> None:
    by_id, by_words = memory(namespace), memory(namespace, content="Maya likes tea")
    memory(namespace, content="Maya likes tea", status=Status.ARCHIVED)
    judgements = [{"memory": str(by_id), "grade": 3}, {"memory": {"content": "Maya likes tea"}, "grade": 1}]
    body = {"query": "What?", "as_of": "2026-01-02T00:00:00+01:00", "user": "maya", "judgements": judgements}
    (query,) = valid_queries(parse_judgement_lines(namespace, lines_of(body, "", "")))
    assert query.grades == {by_id: 3, by_words: 1}
    assert (query.user, query.as_of and query.as_of.isoformat()) == ("maya", "2026-01-01T23:00:00+00:00")


def test_every_wrong_line_is_reported_with_its_number(namespace: Namespace) -> None:
    twice = "said twice"
    for _ in range(2):
        memory(namespace, content=twice)
    stranger, forgotten = memory(empty_namespace("there")), memory(namespace, status=Status.FORGOTTEN)

    def judging(reference: Any, grade: Any = 1, **more: Any) -> dict[str, Any]:
        return {"query": "q", "judgements": [{"memory": reference, "grade": grade}], **more}

    read = parse_judgement_lines(
        namespace,
        lines_of(
            {"query": "fine"},
            "not json",
            {"query": ""},
            judging(str(stranger)),
            judging(str(forgotten)),
            judging({"content": "unheard of"}),
            judging({"content": twice}),
            judging("nothing", 4),
            judging({"content": twice}, 2, kind="unanswerable"),
            {"query": "q", "as_of": (timezone.now() + timedelta(days=9)).isoformat()},
            {"query": "q", "weight": 1},
        ),
    )
    with pytest.raises(ValidationError) as refused:
        valid_queries(read)
    told = {one["at"]: one["message"] for one in flatten_errors(refused.value.detail)}
    assert set(told) == {
        "line 2.body",
        "line 3.query",
        "line 4.judgements.0.memory",
        "line 5.judgements.0.memory",
        "line 6.judgements.0.memory",
        "line 7.judgements.0.memory",
        "line 8.judgements.0.memory",
        "line 8.judgements.0.grade",
        "line 9.kind",
        "line 10.as_of",
        "line 11.weight",
    }
    assert told["line 4.judgements.0.memory"] == f"must be a memory of this namespace; got {stranger}"
    assert "2 have it" in told["line 7.judgements.0.memory"]


def test_a_set_goes_out_as_lines_and_comes_in_equal(namespace: Namespace, judgement_set: JudgementSet) -> None:
    one, other = memory(namespace), memory(namespace)
    then = timezone.now() - timedelta(days=3)
    brought = [
        NewQuery("a", category="hop", user="maya", as_of=then, grades={one: 3, other: 0}),
        NewQuery("b", kind=QueryKind.UNANSWERABLE, grades={other: 0}),
        NewQuery("c\twith a tab"),
    ]
    store_queries(judgement_set, brought, by="maya")
    for words in (False, True):
        lines = list(judgement_export.export_judgements(judgement_set, "jsonl", by_content=words))
        copy = JudgementSet.objects.create(namespace=namespace, name=f"copy {words}")
        store_queries(copy, valid_queries(parse_judgement_lines(namespace, lines_of(*lines))), by="jonas")
        assert list(judgement_export.export_judgements(copy, "jsonl", by_content=words)) == lines


# TREC


def test_trec_files_go_out_and_in_and_mean_the_same_to_another_reader(
    namespace: Namespace, judgement_set: JudgementSet
) -> None:
    known = [memory(namespace) for _ in range(3)]
    brought = [
        NewQuery("first", grades={known[0]: 3, known[1]: 0}),
        NewQuery("second", grades={known[1]: 1, known[2]: 2}),
    ]
    kept = store_queries(judgement_set, brought, by="maya")
    queries, qrels = (
        "\n".join(judgement_export.export_judgements(judgement_set, shape)) for shape in ("queries", "qrels")
    )
    theirs = pytrec_eval.parse_qrel(qrels.splitlines())
    assert theirs == {
        str(query.id): {str(id): grade for id, grade in one.grades.items()}
        for query, one in zip(kept.queries, brought, strict=True)
    }
    again = valid_queries(trec.read_trec(namespace, queries, qrels))
    assert [(one.text, one.grades) for one in again] == [(one.text, one.grades) for one in brought]


def test_a_docid_may_stand_in_the_metadata(namespace: Namespace) -> None:
    known = memory(namespace, metadata={"docid": "D-17"})
    (query,) = valid_queries(trec.read_trec(namespace, "q1\tWhich?\n", "q1 0 D-17 2\n", "metadata.docid"))
    assert query.grades == {known: 2}


def test_every_wrong_line_of_both_files_is_reported(namespace: Namespace) -> None:
    known = memory(namespace)
    queries = f"q1\tWhich?\nq2 no tab\nq1\tagain\n\nq3\t{'x' * 10_001}\n"
    qrels = f"q1 0 {known} 3\nq1 0 {known} 2\nq1 0 {known}\nq9 0 {known} 1\nq1 0 D-1 1\nq1 0 {uuid4()} 1\nq1 0 x 4\n"
    read = trec.read_trec(namespace, queries, qrels)
    assert set(read.problems) == {
        "queries line 2",
        "queries line 3",
        "queries line 5",
        *(f"qrels line {number}" for number in range(2, 8)),
    }
    assert read.problems["qrels line 2"] == ["must give a docid one grade; line 1 gave it 3"]


def test_an_export_of_what_holds_today_leaves_out_what_is_gone(
    namespace: Namespace, judgement_set: JudgementSet
) -> None:
    survivor, gone = memory(namespace), memory(namespace)
    absorbed = merged_memory(namespace, survivor)
    (query,) = store_queries(judgement_set, [NewQuery("q", grades={absorbed: 2, gone: 1})], by="maya").queries
    Memory.objects.filter(id=gone).update(status=Status.ARCHIVED)
    assert list(judgement_export.export_judgements(judgement_set, "qrels", resolved=True)) == [
        f"{query.id} 0 {survivor} 2"
    ]
    assert len(list(judgement_export.export_judgements(judgement_set, "qrels"))) == 2


# Traces


def test_a_set_is_sampled_from_real_queries(namespace: Namespace, judgement_set: JudgementSet) -> None:
    usual = {"user": "", "as_of": None}
    for text, times, more in (
        ("Often?", 3, {}),
        ("Twice", 1, {}),
        ("twice!", 1, {}),
        ("Once", 1, {}),
        ("Shadowed", 5, {"shadow": True}),
        ("Of the past", 5, {"request": usual | {"as_of": "2026-01-01T00:00:00Z"}}),
    ):
        for _ in range(times):
            row(Trace, namespace, query=text, **({"request": usual} | more))
    row(Trace, namespace, query="Often?", request=usual | {"user": "maya"})
    frequent = [one.key for one in query_sampling.sample_traced_queries(namespace, days=7, most=10, way="frequent")]
    assert frequent[0] == ("Often?", "", None)
    assert frequent[1][0] in ("Twice", "twice!")
    assert len(frequent) == 4
    assert set(frequent[2:]) == {("Once", "", None), ("Often?", "maya", None)}
    even = query_sampling.sample_traced_queries(namespace, days=7, most=2, way="even")
    assert even == query_sampling.sample_traced_queries(namespace, days=7, most=10, way="even")[:2]
    kept = query_sampling.add_sampled_queries(judgement_set, days=7, most=10, way="frequent", by="maya")
    again = query_sampling.add_sampled_queries(judgement_set, days=7, most=10, way="even", by="maya")
    assert (kept.added, again.added) == (4, 0)
    assert not Judgement.objects.exists()


def test_every_statement_names_its_namespace(namespace: Namespace, judgement_set: JudgementSet) -> None:
    known = memory(namespace, content="words", metadata={"docid": "D"})
    with CaptureQueriesContext(connection) as asked:
        store_queries(judgement_set, [NewQuery("q", kind="answerable", grades={known: 1})], by="maya")
        store_queries(judgement_set, [NewQuery("q", kind="unanswerable", grades={known: 0})], by="maya")
        parse_judgement_items(namespace, [{"query": "q", "judgements": [{"memory": {"content": "words"}, "grade": 1}]}])
        trec.read_trec(namespace, "a\tb", "a 0 D 1", "metadata.docid")
        current_grades.load_grades(namespace, judgement_set.id)
        judgement_set_stats(namespace, [judgement_set.id])
        query_sampling.sample_traced_queries(namespace, days=1, most=1, way="even")
        for shape in judgement_export.EXPORT_FORMATS:
            list(judgement_export.export_judgements(judgement_set, shape, by_content=True))
    assert {sql: missing for query in asked if (missing := without_namespace(sql := query["sql"]))} == {}
