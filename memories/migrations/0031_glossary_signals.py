"""Stored signals, parameters, explanations and steps of jobs take the names that the code uses."""

import zlib
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import orjson
from django.db import migrations

stored_json = import_module("memories.migrations.0027_glossary_words")

SIGNALS = {
    "met": "term_coverage",
    "unmet": "uncovered_terms",
    "of_whom": "answer_entity_match",
    "of_what": "answer_type_match",
    "marks": "fingerprints",
}
PARAMS = {
    "word_power": "maxsim_power",
    "word_before": "maxsim_before",
    "word_window": "maxsim_window",
    "word_met": "maxsim_covered",
    "abstain_unmet": "abstain_uncovered",
}
LABELS = {
    "kept of the fused score": "fused share",
    "word by word": "MaxSim share",
    "words unknown": "expected MaxSim share",
}
STEPS = {"ask": "trace"}
TIMES = {"read": "parse"}
COUNTS = {"asked": "traced", "asked_again": "retried", "late": "timed_out"}
TRACING_JOBS = "kind IN ('trace', 'optimise')"

Names = Mapping[str, str]
Direction = Callable[[Names], Names]


def load_signals(stored: Any) -> Any:
    """The header of packed signals, and their arrays as one run of bytes."""
    raw = bytes(stored)
    if not raw:
        return raw
    raw = zlib.decompress(raw)
    size = int.from_bytes(raw[:4])
    return orjson.loads(raw[4 : 4 + size]), raw[4 + size :]


def dump_signals(value: Any) -> bytes:
    header, body = value
    encoded = orjson.dumps(header)
    return zlib.compress(b"".join([len(encoded).to_bytes(4), encoded, body]), stored_json.FASTEST)


def signals(value: Any, to: Direction) -> Any:
    if not value:
        return value
    header, body = value
    return stored_json.rename_at(header, "arrays", lambda arrays: stored_json.rename(arrays, to(SIGNALS))), body


def everywhere(value: Any, names: Names) -> Any:
    """JSON with keys and strings renamed at any depth."""
    if isinstance(value, dict):
        return {names.get(key, key): everywhere(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [everywhere(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def labels(node: Any, to: Direction) -> Any:
    """An explanation with its named terms renamed."""
    node = stored_json.rename_at(node, "name", lambda name: to(LABELS).get(name, name))
    return stored_json.rename_at(
        node, "parts", lambda parts: stored_json.rename_each(parts, lambda part: labels(part, to))
    )


def answer(value: Any, to: Direction) -> Any:
    def result(item: Any) -> Any:
        return stored_json.rename_at(item, "explanation", lambda node: labels(node, to))

    value = stored_json.rename_at(value, "took_ms", partial(stored_json.rename, names=to(TIMES)))
    for key in ("results", "nearest"):
        value = stored_json.rename_at(value, key, lambda items: stored_json.rename_each(items, result))
    return value


def job_result(value: Any, to: Direction) -> Any:
    value = stored_json.rename(value, to(STEPS))
    for step in to(STEPS).values():
        value = stored_json.rename_at(value, step, lambda counts: stored_json.rename(counts, to(COUNTS)))
    return everywhere(value, to(PARAMS))


def rename_stored(schema_editor: Any, to: Direction) -> None:
    rewrite = stored_json.rewrite
    params = partial(stored_json.rename, names=to(PARAMS))
    with schema_editor.connection.cursor() as cursor:
        for table in ("trace", "tracedquery"):
            change = partial(signals, to=to)
            rewrite(cursor, f"memories_{table}", "signals", change, load=load_signals, dump=dump_signals)
        for table in ("profileversion", "trace", "tracedset", "evaluation"):
            rewrite(cursor, f"memories_{table}", "params", params)
        rewrite(cursor, "memories_trace", "took_ms", partial(stored_json.rename, names=to(TIMES)))
        packed = {"load": stored_json.load_packed, "dump": stored_json.dump_packed}
        rewrite(cursor, "memories_trace", "answer", partial(answer, to=to), **packed)
        rewrite(cursor, "memories_job", "params", partial(everywhere, names=to(PARAMS)), where=TRACING_JOBS)
        rewrite(cursor, "memories_job", "result", partial(job_result, to=to), where=TRACING_JOBS)
        for old, new in to(STEPS).items():
            cursor.execute(f"UPDATE memories_job SET step = %s WHERE step = %s AND {TRACING_JOBS}", [new, old])


def rename_words(apps: Any, schema_editor: Any) -> None:
    rename_stored(schema_editor, stored_json.forwards)


def restore_words(apps: Any, schema_editor: Any) -> None:
    rename_stored(schema_editor, stored_json.backwards)


class Migration(migrations.Migration):
    dependencies = [("memories", "0030_split_and_timed_out")]

    operations = [migrations.RunPython(rename_words, restore_words)]
