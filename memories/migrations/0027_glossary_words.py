"""Stored JSON takes the names that the API serves: one spelling in code, database and responses."""

import json
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

import orjson
from django.db import migrations

BATCH = 1_000  # rows
FASTEST = 1  # zlib level

ANSWER = {"late": "timed_out", "chance": "answer_probability"}
MISS = {"held_by": "filtered_by"}
RESULT = {"routes": "found_by"}
SUPPORT = {"best_turn_routes": "best_turn_found_by"}
SHADOW = {"silent": "abstained"}
METRICS = {"lost": "false_abstention", "invented": "false_answer"}
TEST = {"chance": "p_value", "part": "split"}
EFFECT = {"chance": "p_value"}
PARAMS = {  # of jobs, by kind
    "evaluate": {"part": "split"},
    "optimise": {"settings": "max_trials"},
    "pool": {"settings": "configs"},
}
CHECK = {"proven": "significant"}
GATE = {"mark": "fingerprint"}
REPLAY = {"newly_silent": "newly_abstained"}
KINDS = {"never_stored": "unanswerable"}

Names = Mapping[str, str]
Direction = Callable[[Names], Names]


def forwards(names: Names) -> Names:
    return names


def backwards(names: Names) -> Names:
    return {new: old for old, new in names.items()}


def rename(value: Any, names: Names) -> Any:
    """An object with some keys renamed, in place and order."""
    return {names.get(key, key): item for key, item in value.items()} if isinstance(value, dict) else value


def rename_at(value: Any, key: str, change: Callable[[Any], Any]) -> Any:
    """An object with one value changed, if it has it."""
    return {**value, key: change(value[key])} if isinstance(value, dict) and key in value else value


def rename_each(value: Any, change: Callable[[Any], Any]) -> Any:
    """A list with each item changed."""
    return [change(item) for item in value] if isinstance(value, list) else value


def answer(value: Any, to: Direction) -> Any:
    def result(item: Any) -> Any:
        return rename_at(rename(item, to(RESULT)), "explain", lambda support: rename(support, to(SUPPORT)))

    value = rename(value, to(ANSWER))
    value = rename_at(value, "nearest", lambda misses: rename_each(misses, lambda miss: rename(miss, to(MISS))))
    return rename_at(value, "results", lambda results: rename_each(results, result))


def gate_result(value: Any, to: Direction) -> Any:
    def test(item: Any) -> Any:
        return rename_at(rename(item, to(TEST)), "metric", lambda name: to(METRICS).get(name, name))

    def judge(step: Any) -> Any:
        return rename_at(rename(step, to(GATE)), "tests", lambda tests: rename_each(tests, test))

    return rename_at(rename_at(value, "judge", judge), "replay", lambda step: rename(step, to(REPLAY)))


def search_result(value: Any, to: Direction) -> Any:
    def split(item: Any) -> Any:
        for side in ("before", "after"):
            item = rename_at(item, side, lambda metrics: rename(metrics, to(METRICS)))
        return rename(item, to(EFFECT))

    def check(step: Any) -> Any:
        return rename_at(rename_at(rename(step, to(CHECK)), "tune", split), "holdout", split)

    return rename_at(value, "check", check)


def per_query(value: Any, to: Direction) -> Any:
    return {id: rename(metrics, to(METRICS)) for id, metrics in value.items()} if isinstance(value, dict) else value


def load_json(stored: Any) -> Any:
    return json.loads(stored) if isinstance(stored, str) else stored


def load_packed(stored: Any) -> Any:
    raw = bytes(stored)
    return orjson.loads(raw if raw.startswith(b"{") else zlib.decompress(raw))


def dump_packed(value: Any) -> bytes:
    return zlib.compress(orjson.dumps(value), FASTEST)


def rewrite(
    cursor: Any,
    table: str,
    column: str,
    change: Callable[[Any], Any],
    *,
    where: str = "true",
    load: Callable[[Any], Any] = load_json,
    dump: Callable[[Any], Any] = json.dumps,
) -> None:
    """Change a JSON column in batches along the primary key; rows that stay the same are not written."""
    select = f"""
        SELECT {column}, namespace_id, id FROM {table}
        WHERE (namespace_id, id) > (%s, %s) AND {column} IS NOT NULL AND {where} ORDER BY namespace_id, id LIMIT %s
    """
    update = f"UPDATE {table} SET {column} = %s WHERE namespace_id = %s AND id = %s"
    last = (UUID(int=0), UUID(int=0))
    while rows := cursor.execute(select, [*last, BATCH]).fetchall():
        pairs = [(load(stored), key) for stored, *key in rows]
        changes = [(dump(new), *key) for value, key in pairs if (new := change(value)) != value]
        if changes:
            cursor.executemany(update, changes)
        last = rows[-1][1:]


def rename_stored(schema_editor: Any, to: Direction) -> None:
    with schema_editor.connection.cursor() as cursor:
        rewrite(cursor, "memories_trace", "answer", lambda value: answer(value, to), load=load_packed, dump=dump_packed)
        rewrite(cursor, "memories_trace", "against", lambda value: rename(value, to(SHADOW)))
        rewrite(cursor, "memories_evaluation", "metrics", lambda value: rename(value, to(METRICS)))
        rewrite(cursor, "memories_evaluation", "per_query", lambda value: per_query(value, to))
        rewrite(cursor, "memories_job", "result", lambda value: gate_result(value, to), where="kind = 'gate'")
        rewrite(cursor, "memories_job", "result", lambda value: search_result(value, to), where="kind = 'optimise'")
        for kind, names in PARAMS.items():
            change = partial(rename, names=to(names))
            rewrite(cursor, "memories_job", "params", change, where=f"kind = '{kind}'")
        for old, new in to(KINDS).items():
            cursor.execute("UPDATE memories_judgedquery SET kind = %s WHERE kind = %s", [new, old])


def rename_words(apps: Any, schema_editor: Any) -> None:
    rename_stored(schema_editor, forwards)


def restore_words(apps: Any, schema_editor: Any) -> None:
    rename_stored(schema_editor, backwards)


class Migration(migrations.Migration):
    dependencies = [("memories", "0026_query_kind_unanswerable")]

    operations = [migrations.RunPython(rename_words, restore_words)]
