"""Several questions in one journey: all are answered, or those before the one that fails."""

import time
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, DataError, connection, connections, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext
from pgvector import Vector

from memories.db import wire
from memories.db.id_arrays import id_array, to_uuids
from memories.db.pipeline import Statement, fetch_pipeline, run_pipeline, with_generic_plan
from memories.db.wire import Wire

pytestmark = pytest.mark.django_db
ONE, TWO = Statement("SELECT 1"), Statement("SELECT %(x)s::int + 1", {"x": 1})
WRONG = Statement("SELECT 1 / %(x)s::int", {"x": 0})


def test_questions_are_answered_in_their_order() -> None:
    assert fetch_pipeline([ONE, TWO]) == [[(1,)], [(2,)]]


def test_an_order_has_no_answer() -> None:
    assert fetch_pipeline(
        [Statement("SET LOCAL work_mem = '8MB'", returns_rows=False), Statement("SHOW work_mem")]
    ) == [[("8MB",)]]


def test_those_before_one_that_fails_are_answered_and_those_after_it_are_not() -> None:
    with transaction.atomic():
        answers = run_pipeline([Statement("SAVEPOINT here", returns_rows=False), ONE, WRONG, TWO])
        assert answers.rows == [[(1,)]]
        assert isinstance(answers.error, psycopg.errors.DivisionByZero)
        assert fetch_pipeline([Statement("ROLLBACK TO SAVEPOINT here", returns_rows=False), TWO]) == [[(2,)]]


def test_what_must_be_answered_raises() -> None:
    with pytest.raises(DataError, match="division by zero"), transaction.atomic():
        fetch_pipeline([ONE, WRONG])


def test_a_vector_travels_as_it_is() -> None:
    given = np.array([0.1, -2.5, 3e-9], dtype=np.float32)
    [[(packed, length)]] = fetch_pipeline(
        [Statement("SELECT %(v)s::vector, vector_norm(%(v)s::vector)", {"v": Vector(given)})]
    )
    assert Vector.from_binary(packed).to_numpy().tolist() == given.tolist()
    assert length == pytest.approx(float(np.linalg.norm(given)))


def test_the_log_of_questions_knows_of_them() -> None:
    with CaptureQueriesContext(connection) as seen:
        fetch_pipeline([ONE, Statement("SELECT %(v)s::vector", {"v": Vector([1.0, 2.0])})])
    assert [one["sql"] for one in seen] == ["SELECT 1", "SELECT '[1.0,2.0]'::vector"]


def test_a_transaction_that_is_broken_is_refused() -> None:
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            fetch_pipeline([ONE])


def test_what_is_asked_again_keeps_its_plan() -> None:
    connection.ensure_connection()
    assert connection.connection.prepare_threshold is not None
    for _ in range(4):
        fetch_pipeline([Statement("SELECT %(x)s::int + 41", {"x": 1})])
    [kept] = fetch_pipeline([Statement("SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%%+ 41'")])
    assert len(kept) == 1


def kept() -> list[str]:
    """The statements that the database keeps for this connection."""
    return [sql for (sql,) in fetch_pipeline([Statement("SELECT statement FROM pg_prepared_statements")])[0]]


def test_one_that_fails_when_it_is_to_be_kept_fails_as_ever_and_the_next_is_kept() -> None:
    for _ in range(4):
        with transaction.atomic():
            answers = run_pipeline(
                [Statement("SAVEPOINT here", returns_rows=False), ONE, Statement("SELECT * FROM nowhere")]
            )
            assert answers.rows == [[(1,)]]
            assert isinstance(answers.error, psycopg.errors.UndefinedTable)
            fetch_pipeline([Statement("ROLLBACK TO SAVEPOINT here", returns_rows=False), ONE])
    assert "SELECT 1" in kept()
    assert "SELECT * FROM nowhere" not in kept()


def test_no_more_statements_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.ensure_connection()
    known = Wire.of(connection.connection)
    monkeypatch.setattr(wire, "MAX_PREPARED", len(known.names) + 2)
    for number in range(5):
        for _ in range(4):
            assert fetch_pipeline([Statement(f"SELECT {number} + 1000")]) == [[(number + 1000,)]]
    assert len(known.names) == wire.MAX_PREPARED
    assert "SELECT 4 + 1000" in kept()
    assert {sql.decode() for sql, _ in known.names} <= {*kept()}


def test_one_that_comes_twice_in_a_journey_is_kept_once() -> None:
    twice = [Statement("SELECT 2 + 2000")] * 2
    for _ in range(4):
        assert fetch_pipeline(twice) == [[(2002,)]] * 2
    assert kept().count("SELECT 2 + 2000") == 1


def test_what_a_journey_that_fails_was_to_let_go_of_is_still_known(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.ensure_connection()
    known = Wire.of(connection.connection)
    for _ in range(4):
        fetch_pipeline([ONE, TWO, Statement("SELECT 3 + 3000")])
    monkeypatch.setattr(wire, "MAX_PREPARED", len(known.names))
    for _ in range(4):
        with transaction.atomic():
            run_pipeline([Statement("SAVEPOINT here", returns_rows=False), WRONG, Statement("SELECT 4 + 3000")])
            fetch_pipeline([Statement("ROLLBACK TO SAVEPOINT here", returns_rows=False)])
    names = fetch_pipeline([Statement("SELECT name FROM pg_prepared_statements WHERE name LIKE 'recall%%'")])[0]
    assert sorted(name.encode() for (name,) in names) == sorted(known.names.values())
    assert len(names) == wire.MAX_PREPARED


def test_a_statement_of_other_types_is_another() -> None:
    same = "SELECT %(x)s + %(x)s"
    for _ in range(4):
        assert fetch_pipeline([Statement(same, {"x": 1})]) == [[(2,)]]
        assert fetch_pipeline([Statement(same, {"x": 0.5})]) == [[(1.0,)]]


def test_a_sign_of_percent_is_written_twice() -> None:
    assert fetch_pipeline([Statement("SELECT 7 %% %(x)s::int, '%%s'", {"x": 4})]) == [[(3, "%s")]]


def test_many_long_values_and_answers_travel_at_once() -> None:
    long = "x" * 1_000_000
    rows = fetch_pipeline([Statement("SELECT %(x)s::text", {"x": long})] * 20)
    assert [row for [(row,)] in rows] == [long] * 20


@pytest.mark.django_db(transaction=True)
def test_a_journey_begins_the_transaction_that_it_is_part_of() -> None:
    with transaction.atomic():
        fetch_pipeline([Statement("CREATE TABLE travelled ()", returns_rows=False), ONE])
        transaction.set_rollback(True)
    assert fetch_pipeline([Statement("SELECT to_regclass('travelled')::text")]) == [[(None,)]]


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_is_interrupted_serves_nobody_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(raw: object) -> None:
        raise KeyboardInterrupt

    fetch_pipeline([ONE])
    raw = connection.connection
    monkeypatch.setattr(wire, "receive_results", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch_pipeline([ONE])
    monkeypatch.undo()
    assert raw.closed
    connection.close()
    assert fetch_pipeline([ONE]) == [[(1,)]]


def test_arrays_of_numbers_come_and_go_as_numpy_has_them() -> None:
    id = UUID("01a1e9ad-9529-7eda-a773-d55aec8051e6")
    values = np.array([0.1, -0.0, np.inf, 1e300])
    [[(floats, none, whole, times, ids)]] = fetch_pipeline(
        [
            Statement(
                """SELECT %(values)s, %(none)s, ARRAY[1, -2], ARRAY['2000-01-01 00:00:01Z'::timestamptz, 'infinity'],
                ARRAY[%(id)s::uuid]""",
                {"values": values, "none": np.empty(0), "id": id},
            )
        ]
    )
    assert floats.tobytes() == values.tobytes()
    assert none.tolist() == []
    assert whole.tolist() == [1, -2]
    assert times.tolist() == [1_000_000, 2**63 - 1]
    assert [head << 64 | tail for head, tail in ids.tolist()] == [id.int]


def test_an_array_of_numbers_holds_no_null() -> None:
    with pytest.raises(ValueError, match="must hold no NULL"):
        fetch_pipeline([Statement("SELECT ARRAY[1.5::float8, NULL]")])


def test_what_is_worked_out_while_the_database_answers_is_put_last() -> None:
    given: list[str] = []

    def later() -> list[Statement]:
        given.append("worked out")
        return [TWO, ONE]

    assert run_pipeline([ONE], later).rows == [[(1,)], [(2,)], [(1,)]]
    assert run_pipeline([], later).rows == [[(2,)], [(1,)]]
    assert given == ["worked out"] * 2


def test_the_database_is_busy_already_while_something_is_worked_out() -> None:
    waiting = Statement("SELECT clock_timestamp()")
    moments: list[datetime] = []

    def later() -> list[Statement]:
        time.sleep(0.05)
        moments.append(datetime.now(UTC))
        return [waiting]

    [[(first,)], [(last,)]] = run_pipeline([waiting], later).rows
    assert first < moments[0] <= last


def test_after_a_question_that_fails_what_is_worked_out_is_refused() -> None:
    with transaction.atomic():
        answers = run_pipeline([Statement("SAVEPOINT here", returns_rows=False), ONE, WRONG], lambda: [TWO])
        assert answers.rows == [[(1,)]]
        assert isinstance(answers.error, psycopg.errors.DivisionByZero)
        assert fetch_pipeline([Statement("ROLLBACK TO SAVEPOINT here", returns_rows=False), TWO]) == [[(2,)]]


def test_something_is_done_while_one_waits() -> None:
    done: list[str] = []
    assert fetch_pipeline([ONE, TWO], lambda: done.append("this")) == [[(1,)], [(2,)]]
    assert done == ["this"]


def test_arrays_of_ids_go_as_they_are_and_are_told_from_numbers() -> None:
    ids = [UUID(int=1), UUID(int=2**127)]
    put = Statement("SELECT %(ids)s::uuid[], %(numbers)s::float8[]", {"ids": id_array(ids), "numbers": np.array([0.5])})
    for _ in range(2):
        [[(came, numbers)]] = fetch_pipeline([put])
        assert to_uuids(came) == ids
        assert numbers.tolist() == [0.5]
    with CaptureQueriesContext(connection) as seen:
        fetch_pipeline([put])
    assert ids[0].hex in seen[0]["sql"]


def test_an_array_of_arrays_keeps_its_shape() -> None:
    [[(numbers, none)]] = fetch_pipeline([Statement("SELECT ARRAY[[1, 2, 3], [4, 5, 6]]::float8[], '{}'::float8[]")])
    assert numbers.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert none.tolist() == []


@pytest.mark.django_db(transaction=True)
def test_what_goes_wrong_while_something_is_worked_out_is_raised_and_interrupts_nothing() -> None:
    def fails() -> list[Statement]:
        raise RuntimeError("no model")

    fetch_pipeline([ONE])
    raw = connection.connection
    with pytest.raises(RuntimeError, match="no model"):
        run_pipeline([ONE], fails)
    assert connection.connection is raw
    assert fetch_pipeline([TWO]) == [[(2,)]]
    with pytest.raises(KeyError):
        run_pipeline([ONE], lambda: [Statement("SELECT %(nobody)s", {})])
    assert connection.connection is raw
    assert fetch_pipeline([TWO]) == [[(2,)]]


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_was_cut_off_is_made_anew_with_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    here: Any = connections[DEFAULT_DB_ALIAS]
    [[(before,)]] = fetch_pipeline([Statement("SELECT pg_backend_pid()")])
    given = {name: here.get_connection_params()[name] for name in ("dbname", "user", "host", "port")}
    with psycopg.connect(**given) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [before])
    monkeypatch.setattr(here, "health_check_enabled", True)
    here.health_check_done = False
    [[(after,)]] = fetch_pipeline([Statement("SELECT pg_backend_pid()")])
    assert after != before


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_has_nothing_to_say_is_not_asked_how_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    here: Any = connections[DEFAULT_DB_ALIAS]
    here.ensure_connection()
    monkeypatch.setattr(here, "health_check_enabled", True)
    monkeypatch.setattr(here, "is_usable", None)  # to call it would fail
    here.health_check_done = False
    assert fetch_pipeline([ONE]) == [[(1,)]]
    assert here.health_check_done


def test_one_plan_is_made_where_many_would_be_and_only_there() -> None:
    shown = Statement("SHOW plan_cache_mode")
    told = fetch_pipeline([shown, *with_generic_plan([shown]), shown])
    assert told == [[("auto",)], [("force_generic_plan",)], [("auto",)]]


@pytest.mark.django_db(transaction=True)
def test_what_is_planned_once_at_the_end_of_a_transaction_ends_with_it() -> None:
    shown = Statement("SHOW plan_cache_mode")
    assert fetch_pipeline(with_generic_plan([shown], last=True)) == [[("force_generic_plan",)]]
    assert fetch_pipeline([shown]) == [[("auto",)]]


def test_the_database_has_all_questions_while_something_is_done() -> None:
    moments: list[datetime] = []

    def meanwhile() -> None:
        time.sleep(0.05)
        moments.append(datetime.now(UTC))

    [[(first,)], [(last,)]] = fetch_pipeline([Statement("SELECT clock_timestamp()")] * 2, meanwhile)
    assert first < last < moments[0]


@pytest.mark.django_db(transaction=True)
def test_what_goes_wrong_while_one_waits_is_raised_and_interrupts_nothing() -> None:
    def fails() -> None:
        raise RuntimeError("no name")

    fetch_pipeline([ONE])
    raw = connection.connection
    with pytest.raises(RuntimeError, match="no name"):
        fetch_pipeline([ONE], fails)
    assert connection.connection is raw
    assert fetch_pipeline([ONE]) == [[(1,)]]
