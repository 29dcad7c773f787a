"""Several statements in one round trip: all return their rows, or those before the first that fails."""

from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, DataError, connection, connections, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext
from pgvector import Vector

from memories.db.pipeline import Statement, fetch_pipeline, run_pipeline, set_config

pytestmark = pytest.mark.django_db
ONE, TWO = Statement("SELECT 1"), Statement("SELECT %(x)s::int + 1", {"x": 1})
WRONG = Statement("SELECT 1 / %(x)s::int", {"x": 0})
SAVEPOINT, ROLLBACK_TO = Statement("SAVEPOINT here"), Statement("ROLLBACK TO SAVEPOINT here")


def test_statements_give_their_rows_in_order() -> None:
    assert fetch_pipeline([ONE, TWO]) == [[(1,)], [(2,)]]


def test_a_command_gives_no_rows() -> None:
    assert fetch_pipeline([Statement("SET LOCAL work_mem = '8MB'"), Statement("SHOW work_mem")]) == [[], [("8MB",)]]


def test_statements_before_a_failed_one_give_their_rows_and_those_after_it_do_not() -> None:
    with transaction.atomic():
        result = run_pipeline([SAVEPOINT, ONE, WRONG, TWO])
        assert result.rows == [[], [(1,)]]
        assert isinstance(result.error, psycopg.errors.DivisionByZero)
        assert fetch_pipeline([ROLLBACK_TO, TWO]) == [[], [(2,)]]


def test_the_first_of_several_errors_is_reported() -> None:
    for _ in range(3):
        with transaction.atomic():
            result = run_pipeline([SAVEPOINT, *[ONE] * 20, WRONG, Statement("SELECT * FROM nowhere")])
            assert isinstance(result.error, psycopg.errors.DivisionByZero)
            assert len(result.rows) == 21
            fetch_pipeline([ROLLBACK_TO])


def test_fetching_raises_the_error_as_django_does() -> None:
    with pytest.raises(DataError, match="division by zero"), transaction.atomic():
        fetch_pipeline([ONE, WRONG])


def test_a_broken_transaction_is_refused() -> None:
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            fetch_pipeline([ONE])


def test_statements_appear_in_djangos_query_log() -> None:
    with CaptureQueriesContext(connection) as queries:
        fetch_pipeline([ONE, TWO])
    assert [query["sql"] for query in queries] == [ONE.sql, TWO.sql]


def test_a_statement_is_prepared_after_a_few_executions_and_a_failed_one_is_not() -> None:
    connection.ensure_connection()
    assert connection.connection.prepare_threshold is not None
    failing = Statement("SELECT * FROM nowhere")
    for _ in range(8):
        with transaction.atomic():
            assert fetch_pipeline([Statement("SELECT %(x)s::int + 41", {"x": 1})]) == [[(42,)]]
        with transaction.atomic():
            assert isinstance(run_pipeline([SAVEPOINT, failing]).error, psycopg.errors.UndefinedTable)
            fetch_pipeline([ROLLBACK_TO])
    for _ in range(8):
        fetch_pipeline([Statement("SELECT %(x)s::int + 41", {"x": 1})])
    [rows] = fetch_pipeline([Statement("SELECT statement FROM pg_prepared_statements")])
    assert [sql for (sql,) in rows if sql.endswith("+ 41")] == ["SELECT $1::int + 41"]
    assert failing.sql not in [sql for (sql,) in rows]


def test_a_percent_sign_is_doubled() -> None:
    assert fetch_pipeline([Statement("SELECT 7 %% %(x)s::int, '%%s'", {"x": 4})]) == [[(3, "%s")]]
    assert fetch_pipeline([Statement("SELECT '%%s'")]) == [[("%s",)]]


def test_many_long_values_and_rows_fit_a_round_trip() -> None:
    long = "x" * 1_000_000
    rows = fetch_pipeline([Statement("SELECT %(x)s::text", {"x": long})] * 20)
    assert [row for [(row,)] in rows] == [long] * 20


@pytest.mark.django_db(transaction=True)
def test_a_pipeline_is_part_of_the_transaction_around_it() -> None:
    with transaction.atomic():
        fetch_pipeline([Statement("CREATE TABLE made_here ()"), ONE])
        transaction.set_rollback(True)
    assert fetch_pipeline([Statement("SELECT to_regclass('made_here')::text")]) == [[(None,)]]


@pytest.mark.django_db(transaction=True)
def test_a_lost_connection_is_replaced_with_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    database: Any = connections[DEFAULT_DB_ALIAS]
    [[(before,)]] = fetch_pipeline([Statement("SELECT pg_backend_pid()")])
    params = {name: database.get_connection_params()[name] for name in ("dbname", "user", "host", "port")}
    with psycopg.connect(**params) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [before])
    monkeypatch.setattr(database, "health_check_enabled", True)
    database.health_check_done = False
    [[(after,)]] = fetch_pipeline([Statement("SELECT pg_backend_pid()")])
    assert after != before


def test_vectors_are_sent_and_read_in_binary() -> None:
    vector = np.array([0.1, -2.5, 3e-9], dtype=np.float32)
    [[(packed, norm)]] = fetch_pipeline(
        [Statement("SELECT %(v)s::vector, vector_norm(%(v)s::vector)", {"v": Vector(vector)})]
    )
    assert Vector.from_binary(packed).to_numpy().tolist() == vector.tolist()
    assert norm == pytest.approx(float(np.linalg.norm(vector)))


def test_lists_of_ids_and_of_floats_are_arrays() -> None:
    ids, numbers = [UUID(int=1), UUID(int=2**127)], [0.1, -0.0, float("inf"), 1e300]
    statement = Statement("SELECT %(ids)s::uuid[], %(numbers)s::float8[]", {"ids": ids, "numbers": numbers})
    for _ in range(2):
        assert fetch_pipeline([statement]) == [[(ids, numbers)]]


def test_settings_last_until_the_end_of_the_transaction() -> None:
    show = Statement("SHOW plan_cache_mode")
    with transaction.atomic():
        assert fetch_pipeline([set_config({"plan_cache_mode": "force_generic_plan"}), show])[1] == [
            ("force_generic_plan",)
        ]
