"""The migrations make exactly the models, and can be taken back."""

import json
import re
from datetime import timedelta
from importlib import import_module
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.utils import timezone

from memories.contracts.new_memory import NewMemory
from memories.db.ids import derived_id, uuid7
from memories.db.json_codec import unpack_json
from memories.models import (
    Document,
    Entity,
    EntityAlias,
    Evaluation,
    Job,
    JudgedQuery,
    Memory,
    MemorySource,
    Namespace,
    NamespaceStatistics,
    Posting,
    PredicatePosting,
    ProfileVersion,
    Session,
    Trace,
    TracedQuery,
    TracedSet,
    Turn,
)
from memories.retrieval.trace_codec import pack_signals, unpack_arrays
from memories.text.name_index import find_names
from memories.writing.remember import remember
from scoring.signals import Signals
from tests.support.posting_blocks import pack_all
from tests.support.rows import row

pytestmark = pytest.mark.django_db

A_DAY = re.compile(r"memories_trace_\d{4}_")
SCHEMA = """
    SELECT 'column', table_name || '.' || column_name, data_type || ' ' || is_nullable
    FROM information_schema.columns WHERE table_name LIKE 'memories\\_%'
    UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE tablename LIKE 'memories\\_%'
    UNION ALL SELECT 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE conrelid::regclass::text LIKE 'memories\\_%'
    UNION ALL SELECT 'extension', extname, extversion FROM pg_extension ORDER BY 1, 2, 3"""


def schema() -> list[tuple[str, str, str]]:
    """List all that the migrations have made, without the days that the worker adds to the traces."""
    with connection.cursor() as cursor:
        cursor.execute(SCHEMA.replace("%", "%%"), [])
        return [found for found in cursor.fetchall() if not A_DAY.search(f"{found[1]} {found[2]}")]


def test_no_migration_is_missing() -> None:
    call_command("makemigrations", "--check", "--dry-run", stdout=StringIO())


def test_migrations_go_down_to_nothing_and_up_to_the_same_again() -> None:
    before = schema()
    call_command("migrate", "memories", "zero", verbosity=0)
    assert [found for found in schema() if found[1] != "plpgsql"] == []
    call_command("migrate", "memories", verbosity=0)
    assert schema() == before


# A shadow's answer as it was stored before answers were packed.
BEFORE = """
    INSERT INTO memories_trace (namespace_id, id, at, as_of, query, request, system, params, plan, layout, candidates,
        signals, answer, abstained, took_ms, shadow)
    VALUES (%s, %s, now(), now(), 'Which oven?', '{}', 'blend', '{}', '{}', 1, '{}', '', %s, false, '{}', true)
"""


def test_answers_stay_what_they_were_when_they_are_packed_and_when_that_is_taken_back() -> None:
    namespace = Namespace.objects.create(slug="here")
    old: dict[str, Any] = {"results": [{"content": 'Zürich \\ "oven"'}], "plan": {"window": None}}
    against = {"rbo": 0.5}
    call_command("migrate", "memories", "0024", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(BEFORE, [namespace.id, uuid7(), json.dumps({**old, "against": against})])
    call_command("migrate", "memories", verbosity=0)
    kept = Trace.objects.get()
    assert (kept.answer, kept.results, kept.against) == (old, 1, against)

    new = {"results": [], "as_of": "2026-03-01T09:00:00Z"}
    row(Trace, namespace, query="new", answer=new, at=kept.at + timedelta(seconds=1), signals=b"")
    call_command("migrate", "memories", "0024", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT answer FROM memories_trace ORDER BY at")
        stored = [json.loads(answer) for (answer,) in cursor.fetchall()]
    assert stored == [{**old, "against": against}, new]
    call_command("migrate", "memories", verbosity=0)


# What was stored before the API took the glossary's words, and after.
OLD_ANSWER: dict[str, Any] = {
    "late": [{"retriever": "bm25", "reason": "took longer than 500 ms"}],
    "chance": 0.25,
    "nearest": [{"content": "Zürich", "held_by": ["low_confidence"]}],
    "results": [{"routes": ["lexical"], "explain": {"best_turn_routes": ["lexical"]}}, {"routes": [], "explain": None}],
    "plan": {"chance": "another word"},
}
NEW_ANSWER: dict[str, Any] = {
    "timed_out": OLD_ANSWER["late"],
    "answer_probability": 0.25,
    "nearest": [{"content": "Zürich", "filtered_by": ["low_confidence"]}],
    "results": [
        {"found_by": ["lexical"], "explain": {"best_turn_found_by": ["lexical"]}},
        {"found_by": [], "explain": None},
    ],
    "plan": {"chance": "another word"},
}
OLD_METRICS = {"ndcg@10": {"mean": 0.5}, "lost": {"mean": 0.1}, "invented": {"mean": 0.2}}
NEW_METRICS = {"ndcg@10": {"mean": 0.5}, "false_abstention": {"mean": 0.1}, "false_answer": {"mean": 0.2}}
OLD_GATE = {
    "judge": {
        "mark": "abc",
        "tests": [
            {"metric": "lost", "part": "", "chance": 0.5, "won": 1, "lost": 2},
            {"metric": "ndcg@10", "chance": 0.1},
        ],
    },
    "replay": {"newly_silent": 3},
}
NEW_GATE = {
    "judge": {
        "fingerprint": "abc",
        "tests": [
            {"metric": "false_abstention", "split": "", "p_value": 0.5, "won": 1, "lost": 2},
            {"metric": "ndcg@10", "p_value": 0.1},
        ],
    },
    "replay": {"newly_abstained": 3},
}
OLD_SEARCH = {
    "search": {"tried": 9},
    "check": {"proven": True, "holdout": {"chance": 0.1, "won": 3, "lost": 1, "before": OLD_METRICS, "after": {}}},
}
NEW_SEARCH = {
    "search": {"tried": 9},
    "check": {
        "significant": True,
        "holdout": {"p_value": 0.1, "won": 3, "lost": 1, "before": NEW_METRICS, "after": {}},
    },
}


def test_stored_words_are_renamed_and_renamed_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("memories.migrations.0027_glossary_words"), "BATCH", 2)
    namespaces = [Namespace.objects.create(slug=slug) for slug in ("here", "there")]
    days = [timezone.now() - timedelta(days=days) for days in (0, 0, 1, 2)]  # in partitions of their own
    for namespace in namespaces:
        for number, day in enumerate(days):
            row(Trace, namespace, id=derived_id(day, f"{number} {namespace.slug}"), answer=NEW_ANSWER, signals=b"")
        against = {"abstained": [False, True], "rbo": 0.5}
        row(Trace, namespace, answer={"results": []}, against=against, shadow=True, signals=b"")
        per_query = {"1": {"ndcg@10": 1.0, "false_abstention": 0.0}, "2": {"false_answer": 1.0}}
        row(Evaluation, namespace, metrics=NEW_METRICS, per_query=per_query)
        row(Job, namespace, kind="gate", result=NEW_GATE)
        row(Job, namespace, kind="optimise", params={"max_trials": 9}, result=NEW_SEARCH)
        row(Job, namespace, kind="evaluate", params={"set": "1", "split": "tune"})
        row(Job, namespace, kind="pool", params={"configs": ["blend"], "k": 5})
        row(Job, namespace, kind="trace", result={"trace": {"chance": 1, "lost": 2}})
        row(JudgedQuery, namespace, kind="unanswerable")
    after = stored_json()
    call_command("migrate", "memories", "0025", verbosity=0)
    before = stored_json()
    call_command("migrate", "memories", verbosity=0)
    assert stored_json() == after
    assert before["answer"] == [*[OLD_ANSWER] * 8, {"results": []}, {"results": []}]
    assert before["against"] == [{"silent": [False, True], "rbo": 0.5}] * 2
    assert before["metrics"] == [OLD_METRICS] * 2
    assert before["per_query"] == [{"1": {"ndcg@10": 1.0, "lost": 0.0}, "2": {"invented": 1.0}}] * 2
    old_params = [{"set": "1", "part": "tune"}, {"settings": 9}, {"settings": ["blend"], "k": 5}]
    assert before["params"] == [params for params in old_params for _ in namespaces]
    assert before["result"] == [
        *[{}] * 2,
        *[OLD_GATE] * 2,
        *[OLD_SEARCH] * 2,
        *[{}] * 2,
        *[{"ask": {"chance": 1, "lost": 2}}] * 2,
    ]
    assert before["kind"].count("never_stored") == 2
    assert after["kind"].count("unanswerable") == 2


def stored_json() -> dict[str, list[Any]]:
    """The columns that hold renamed words, sorted so that the order of rows does not matter."""
    columns = {"against": "trace", "metrics": "evaluation", "per_query": "evaluation"}
    found: dict[str, list[Any]] = {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT answer FROM memories_trace ORDER BY shadow")
        found["answer"] = [unpack_json(bytes(answer)) for (answer,) in cursor.fetchall()]
        for column, table in columns.items():
            cursor.execute(f"SELECT {column} FROM memories_{table} WHERE {column} IS NOT NULL")
            found[column] = [json.loads(value) for (value,) in cursor.fetchall()]
        cursor.execute("SELECT result FROM memories_job ORDER BY kind")
        found["result"] = [json.loads(value) for (value,) in cursor.fetchall()]
        cursor.execute("SELECT params FROM memories_job WHERE params <> '{}' ORDER BY kind")
        found["params"] = [json.loads(value) for (value,) in cursor.fetchall()]
        cursor.execute("SELECT kind FROM memories_judgedquery")
        found["kind"] = [kind for (kind,) in cursor.fetchall()]
    return found


# Parameters, explanations and jobs as they were stored before 0031, and after.
OLD_PARAMS = {"word_power": 2.0, "word_met": 0.5, "abstain_unmet": -1.0, "rrf_k": 60}
NEW_PARAMS = {"maxsim_power": 2.0, "maxsim_covered": 0.5, "abstain_uncovered": -1.0, "rrf_k": 60}
OLD_TREE = {"name": "blend", "parts": [{"name": "word by word", "value": 0.5}, {"name": "trust", "value": 1.0}]}
NEW_TREE = {"name": "blend", "parts": [{"name": "MaxSim share", "value": 0.5}, {"name": "trust", "value": 1.0}]}
OLD_JOB = {
    "ask": {"asked": 9, "asked_again": 1, "late": 1},
    "search": {"chosen": {"abstain_unmet": -2.0}, "points": [{"changed": {"abstain_unmet": -2.0}}]},
}
NEW_JOB = {
    "trace": {"traced": 9, "retried": 1, "timed_out": 1},
    "search": {"chosen": {"abstain_uncovered": -2.0}, "points": [{"changed": {"abstain_uncovered": -2.0}}]},
}
NEW_COLUMNS = {"term_coverage", "uncovered_terms", "answer_entity_match", "answer_type_match", "fingerprints"}
OLD_COLUMNS = {"met", "unmet", "of_whom", "of_what", "marks"}


def test_stored_signals_and_parameters_are_renamed_and_renamed_back() -> None:
    namespace = Namespace.objects.create(slug="here")
    signals = Signals(ids=np.array(["a", "b"]), term_coverage=np.array([0.25, 0.75]))
    packed = pack_signals(signals, [b"1" * 8, b"2" * 8], "minilm")
    answer, times = {"results": [{"explanation": NEW_TREE}], "took_ms": {"parse": 1.5}}, {"parse": 1.5, "rank": 1.0}
    row(Trace, namespace, signals=packed, params=NEW_PARAMS, answer=answer, took_ms=times)
    row(TracedQuery, namespace, signals=packed, timed_out=["bm25"])
    for table in (ProfileVersion, TracedSet, Evaluation):
        row(table, namespace, params=NEW_PARAMS)
    wish = {"params": {"maxsim_window": 64}, "move": ["abstain_uncovered", "trust"]}
    job = row(Job, namespace, kind="optimise", step="trace", params=wish, result=NEW_JOB)
    other = row(Job, namespace, kind="gate", step="judge", params={"word_power": 1}, result={"ask": 1})

    call_command("migrate", "memories", "0030", verbosity=0)
    for table in ("trace", "tracedquery"):
        arrays, head = unpack_arrays(stored_value(table, "signals"))
        assert set(arrays) & (OLD_COLUMNS | NEW_COLUMNS) == OLD_COLUMNS
        assert arrays["met"].tolist() == [0.25, 0.75]
        assert arrays["marks"].tobytes() == b"1" * 8 + b"2" * 8
        assert head["embedder"] == "minilm"
    for table in ("trace", "profileversion", "tracedset", "evaluation"):
        assert OLD_PARAMS in [json.loads(value) for value in stored_values(table, "params")]
    old_answer = {"results": [{"explanation": OLD_TREE}], "took_ms": {"read": 1.5}}
    assert unpack_json(stored_value("trace", "answer")) == old_answer
    assert [json.loads(value) for value in stored_values("trace", "took_ms")] == [{"read": 1.5, "rank": 1.0}]
    assert dict(zip(stored_values("job", "id"), stored_values("job", "step"), strict=True)) == {
        job.id: "ask",
        other.id: "judge",
    }
    assert OLD_JOB in [json.loads(value) for value in stored_values("job", "result")]
    old_wish = {"params": {"word_window": 64}, "move": ["abstain_unmet", "trust"]}
    assert old_wish in [json.loads(value) for value in stored_values("job", "params")]

    call_command("migrate", "memories", verbosity=0)
    trace, query = Trace.objects.get(), TracedQuery.objects.get()
    assert bytes(trace.signals) == bytes(query.signals) == packed
    assert (trace.params, trace.answer, trace.took_ms) == (NEW_PARAMS, answer, times)
    for model in (ProfileVersion, TracedSet, Evaluation):
        assert NEW_PARAMS in list(model.objects.values_list("params", flat=True))
    again, untouched = Job.objects.get(id=job.id), Job.objects.get(id=other.id)
    assert (again.step, again.params, again.result) == ("trace", wish, NEW_JOB)
    assert (untouched.params, untouched.result) == ({"word_power": 1}, {"ask": 1})


def test_splits_and_timeouts_survive_the_renaming_of_their_columns() -> None:
    namespace = Namespace.objects.create(slug="here")
    row(JudgedQuery, namespace, split="holdout")
    row(Evaluation, namespace, split="tune")
    query = row(TracedQuery, namespace, signals=b"", timed_out=["bm25"])
    call_command("migrate", "memories", "0029", verbosity=0)
    assert "holdout" in stored_values("judgedquery", "part")
    assert stored_values("evaluation", "part") == ["tune"]
    assert stored_values("tracedquery", "late") == ['["bm25"]']
    call_command("migrate", "memories", verbosity=0)
    assert JudgedQuery.objects.filter(split="holdout").count() == 1
    assert TracedQuery.objects.get(id=query.id).timed_out == ["bm25"]


def test_sources_are_named_by_what_is_stored_beside_them_and_unnamed_again() -> None:
    namespace = Namespace.objects.create(slug="here")
    mine = row(Session, namespace, user="maya", agent="planner")
    nobodys = row(Session, namespace, user="", agent="planner")
    turn = row(Turn, namespace, session=nobodys, speaker="Priya")
    owned = row(Memory, namespace, user="maya")
    later = row(Memory, namespace, user="maya", session=mine)
    said: list[tuple[dict[str, Any], str]] = [
        ({"memory": owned}, "maya"),
        ({"memory": owned, "session": mine}, "maya"),
        ({"memory": owned, "session": nobodys}, "planner"),
        ({"memory": owned, "session": nobodys, "turn": turn}, "Priya"),
        ({"memory": owned, "source": "handbook"}, "handbook"),
        # Who repeated it outside a session is not known.
        ({"memory": later}, ""),
        ({"memory": row(Memory, namespace, level="turn"), "session": mine}, ""),
    ]
    rows = [row(MemorySource, namespace, **where) for where, _ in said]

    def sources() -> list[str]:
        stored = dict(MemorySource.objects.values_list("id", "source"))
        return [stored[source.id] for source in rows]

    call_command("migrate", "memories", "0031", verbosity=0)
    call_command("migrate", "memories", "0032", verbosity=0)
    assert sources() == [source for _, source in said]
    call_command("migrate", "memories", "0031", verbosity=0)
    assert sources() == ["", "", "", "", "handbook", "", ""]


def test_the_level_that_adaptive_protected_from_leaves_stored_parameters() -> None:
    namespace = Namespace.objects.create(slug="here")
    params = {"belief_floor": 0.4, "protected_above": 7.0}
    for table in (ProfileVersion, TracedSet, Evaluation):
        row(table, namespace, params=params)
    row(Job, namespace, kind="optimise", params={"params": params, "move": ["protected_above", "belief_floor"]})
    call_command("migrate", "memories", "0034", verbosity=0)
    call_command("migrate", "memories", "0035", verbosity=0)
    for table in (ProfileVersion, TracedSet, Evaluation):
        assert table.objects.get().params == {"belief_floor": 0.4}
    assert Job.objects.get().params == {"params": {"belief_floor": 0.4}, "move": ["belief_floor"]}


def test_judged_queries_that_memorysync_traced_without_memory_edges_are_traced_again() -> None:
    namespace = Namespace.objects.create(slug="here")
    for system in ("memorysync", "recall"):
        row(TracedQuery, namespace, traced_set=row(TracedSet, namespace, system=system))
    call_command("migrate", "memories", "0037", verbosity=0)
    call_command("migrate", "memories", "0038", verbosity=0)
    assert [traced.system for traced in TracedSet.objects.all()] == ["recall"]
    assert [query.traced_set.system for query in TracedQuery.objects.all()] == ["recall"]


def stored_values(table: str, column: str) -> list[Any]:
    """A column as the database holds it, whatever the models call it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM memories_{table}")
        return [value for (value,) in cursor.fetchall()]


def stored_value(table: str, column: str) -> bytes:
    """The bytes of a table's only row."""
    (value,) = stored_values(table, column)
    return bytes(value)


def test_predicates_of_active_memories_become_findable_by_each_namespaces_configuration() -> None:
    english, plain = Namespace.objects.create(slug="a"), Namespace.objects.create(slug="b", text_config="simple")
    one = row(Memory, english, predicate="drives to")
    other = row(Memory, plain, predicate="drives to", level="summary")
    row(Memory, english, predicate="drove", status="archived", content_hash=b"x" * 32)
    row(Memory, english, predicate="", content_hash=b"y" * 32)
    fill = import_module("memories.migrations.0034_fill_predicate_postings").FILL
    with connection.cursor() as cursor:
        cursor.execute(fill)
    assert set(PredicatePosting.objects.values_list("term", "memory_id", "level")) == {
        ("drive", one.id, "fact"),
        ("drives", other.id, "summary"),
        ("to", other.id, "summary"),
    }


def test_names_that_were_stored_before_there_were_keys_are_found() -> None:
    here, there = Namespace.objects.create(slug="here"), Namespace.objects.create(slug="there")
    for namespace, kind in ((here, "person"), (there, "organisation")):
        entity = row(Entity, namespace, name="Robert Stone", kind=kind)
        row(EntityAlias, namespace, entity=entity, name="The Rock")
    assert not find_names(here, ["the rock"]).matches("the rock")
    fill_keys = import_module("memories.migrations.0040_fill_name_keys").fill_keys
    with connection.schema_editor() as editor:
        fill_keys(apps, editor)
    for namespace, found in ((here, True), (there, False)):
        assert find_names(namespace, ["the rock"]).matches("the rock")
        assert bool(find_names(namespace, ["Bob"]).matches("Bob")) is found  # people alone have nicknames


def test_postings_are_numbered_and_blocks_are_unpacked_when_that_is_taken_back() -> None:
    migration = import_module("memories.migrations.0045_packed_postings")
    namespace = Namespace.objects.create(slug="harbour", title="Harbour", embedder="wordllama-256")
    remember(namespace, [NewMemory(content=f"A {word} harbour, harbour") for word in ("red", "wide")], by="tests")
    columns = ("term", "memory_id", "frequency", "length", "level")
    stored = set(Posting.objects.values_list(*columns, "number"))
    pack_all(namespace)
    with connection.cursor() as cursor:
        cursor.execute(migration.UNPACK)
        assert set(Posting.objects.values_list(*columns, "number")) == stored
        Document.objects.all().delete()
        Posting.objects.update(number=0)
        NamespaceStatistics.objects.update(last_document=0)
        for statement in (migration.NUMBER_DOCUMENTS, migration.NUMBER_POSTINGS, migration.LAST_DOCUMENTS):
            cursor.execute(statement)
    assert set(Posting.objects.values_list(*columns, "number")) == stored
    assert NamespaceStatistics.objects.get().last_document == 2


def test_a_relation_added_later_comes_with_its_column_and_its_foreign_key() -> None:
    before = schema()
    now = ProjectState.from_apps(apps)
    earlier = now.clone()
    version = earlier.models["memories", "publication"]
    for name in ("policy_version", "policy_version_id"):
        del version.fields[name]
    for kind in ("constraints", "indexes"):
        version.options[kind] = [one for one in version.options[kind] if "policy" not in one.name]
    with connection.schema_editor() as editor:
        editor.execute("ALTER TABLE memories_publication DROP COLUMN policy_version_id")

    changes = MigrationAutodetector(earlier, now).changes(MigrationLoader(None).graph)
    (migration,) = changes["memories"]
    assert [type(operation).__name__ for operation in migration.operations] == [
        "AddField",
        "AddField",
        "AddIndex",
        "AddConstraint",
    ]
    with connection.schema_editor(atomic=True) as editor:
        migration.apply(earlier, editor)
    assert schema() == before


def test_every_migration_has_a_name_that_says_what_it_makes() -> None:
    names = sorted(name for app, name in MigrationLoader(connection).disk_migrations if app == "memories")
    assert names[0] == "0001_vector_extension"
    assert [name for name in names if "auto" in name or "initial" in name] == []
