"""The keys as the database holds them: every one begins with the namespace."""

from typing import Any

import pytest
from django.db import connection, models

from memories.models import Membership, Namespace
from tests.support.rows import NAMESPACED, TABLES, reference_params, references

pytestmark = pytest.mark.django_db

COLUMNS_OF = "(SELECT array_agg(attname::text ORDER BY n) FROM unnest({}) WITH ORDINALITY AS k(num, n)\
 JOIN pg_attribute ON attrelid = {} AND attnum = num)"
INDEXES = f"""
    SELECT t.relname, i.relname, a.amname, x.indisprimary, {COLUMNS_OF.format("x.indkey::int2[]", "x.indrelid")}
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
    JOIN pg_am a ON a.oid = i.relam WHERE t.relname LIKE 'memories\\_%'"""
FOREIGN_KEYS = f"""
    SELECT conrelid::regclass::text, confrelid::regclass::text, confdeltype::text,
    {COLUMNS_OF.format("conkey", "conrelid")}, {COLUMNS_OF.format("confkey", "confrelid")}
    FROM pg_constraint WHERE contype = 'f' AND conrelid::regclass::text LIKE 'memories\\_%' AND conparentid = 0"""
REQUIRED = """
    SELECT attrelid::regclass::text, attname::text FROM pg_attribute
    WHERE attnotnull AND attrelid::regclass::text LIKE 'memories\\_%'"""
GLOBAL = {Namespace._meta.db_table, Membership._meta.db_table}


def query_catalogue(sql: str) -> list[Any]:
    """Ask the database's own catalogue."""
    with connection.cursor() as cursor:
        cursor.execute(sql.replace("%", "%%"), [])
        return cursor.fetchall()


@pytest.mark.parametrize(("model", "reference"), reference_params())
def test_every_relation_is_a_foreign_key_over_both_columns(model: type[models.Model], reference: Any) -> None:
    on_delete = "c" if reference.cascade else "a"
    target = reference.related_model._meta.db_table
    expected = (
        model._meta.db_table,
        target,
        on_delete,
        ["namespace_id", reference.id_name],
        ["namespace_id", "id"],
    )
    assert expected in query_catalogue(FOREIGN_KEYS)


@pytest.mark.parametrize(("model", "reference"), reference_params())
def test_every_relation_is_found_by_an_index_from_its_far_end(model: type[models.Model], reference: Any) -> None:
    prefix = ["namespace_id", reference.id_name]
    assert any(
        table == model._meta.db_table and columns[:2] == prefix for table, _, _, _, columns in query_catalogue(INDEXES)
    )


@pytest.mark.parametrize(("model", "reference"), reference_params())
def test_every_relation_can_be_followed_from_its_far_end(model: type[models.Model], reference: Any) -> None:
    assert not reference.remote_field.hidden


@pytest.mark.parametrize("model", NAMESPACED)
def test_every_table_of_a_namespace_goes_with_it(model: type[models.Model]) -> None:
    reached = {model._meta.db_table}
    while Namespace._meta.db_table not in reached:
        onward = {to for table, to in holds() if table in reached}
        assert onward - reached
        reached |= onward


def test_no_row_is_held_in_its_namespace_twice() -> None:
    home = Namespace._meta.db_table
    held = {table for table, to in holds() if to != home}
    assert not held & {table for table, to in holds() if to == home}


def holds() -> set[tuple[str, str]]:
    """Which table's rows cannot be without a row of which other, and go with it."""
    required = set(query_catalogue(REQUIRED))
    return {
        (table, to)
        for table, to, deletion, columns, _ in query_catalogue(FOREIGN_KEYS)
        if deletion == "c" and all((table, column) in required for column in columns)
    }


def test_every_index_and_key_begins_with_the_namespace_that_can_have_an_order() -> None:
    others = [
        (table, index)
        for table, index, method, _, columns in query_catalogue(INDEXES)
        if table not in GLOBAL and method == "btree" and columns[0] != "namespace_id"
    ]
    assert others == []


def test_only_the_memory_of_a_vector_is_indexed_across_namespaces() -> None:
    across = {(index, method) for _, index, method, _, _ in query_catalogue(INDEXES) if method != "btree"}
    assert across == {("memoryvector_of_memory", "hash")}


@pytest.mark.parametrize("model", NAMESPACED)
def test_every_primary_key_begins_with_the_namespace(model: type[models.Model]) -> None:
    (key,) = [
        columns
        for table, _, _, primary, columns in query_catalogue(INDEXES)
        if primary and table == model._meta.db_table
    ]
    fields = [field.column for field in model._meta.pk_fields]
    assert key[: len(fields)] == fields  # what follows is carried along
    assert key[0] == "namespace_id"


def test_no_global_table_refers_into_a_namespace() -> None:
    walled = {model._meta.db_table for model in NAMESPACED}
    assert [
        (source, target)
        for source, target, *_ in query_catalogue(FOREIGN_KEYS)
        if source in GLOBAL and target in walled
    ] == []


def test_no_table_has_a_sequence() -> None:
    assert query_catalogue("SELECT relname FROM pg_class WHERE relkind = 'S' AND relname LIKE 'memories\\_%'") == []


def test_no_table_has_a_trigger_or_a_value_made_by_the_database() -> None:
    triggers = "SELECT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal"
    assert [table for (table,) in query_catalogue(triggers) if table.startswith("memories_")] == []
    made = "SELECT adrelid::regclass::text FROM pg_attrdef"
    assert [table for (table,) in query_catalogue(made) if table.startswith("memories_")] == []


def test_every_table_is_known_to_the_tests() -> None:
    assert {model._meta.db_table for model in TABLES} <= {table for table, *_ in query_catalogue(INDEXES)}
    assert sum(len(references(model)) for model in NAMESPACED) == len(list(reference_params()))
