"""Files of other memory systems become bodies of memories and conversations."""

import itertools
import json
from typing import Any

import pytest

from memories.transfer.columns import guess_columns, map_columns
from memories.transfer.formats import FORMATS, TABLE, ParsedFile, UnreadableFileError, format_title, parse_file

MEM0 = {
    "id": "m1",
    "memory": "Prefers window seats",
    "user_id": "ada",
    "run_id": "trip",
    "categories": ["travel"],
    "metadata": {"app": "desk"},
    "created_at": "2025-05-01T10:00:00.5-07:00",
}
EDGE = {
    "uuid": "e1",
    "name": "WORKS_AT",
    "fact": "Ada works at Initech",
    "source_node_uuid": "n1",
    "target_node_uuid": "n2",
    "valid_at": "2024-01-01T00:00:00Z",
    "invalid_at": None,
    "created_at": "2024-02-01T00:00:00Z",
}
ENTITY = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Speaks Dutch", "Ada runs"]}
RELATION = {"type": "relation", "from": "Ada", "to": "Initech", "relationType": "works_at"}


def parse_value(value: Any) -> ParsedFile:
    """A JSON value as a file."""
    return parse_file("export.json", json.dumps(value).encode())


def lines(*values: Any) -> bytes:
    """Values as lines of JSON."""
    return "\n".join(json.dumps(value) for value in values).encode()


@pytest.mark.parametrize("file", [[MEM0], {"results": [MEM0]}, {"results": [MEM0], "relations": []}])
def test_mem0_keeps_user_run_categories_and_metadata(file: Any) -> None:
    assert parse_value(file) == ParsedFile(
        "mem0",
        [
            {
                "content": "Prefers window seats",
                "user": "ada",
                "session": "trip",
                "tags": ["travel"],
                "created_at": "2025-05-01T10:00:00.500000-07:00",
                "metadata": {"app": "desk", "mem0_id": "m1"},
            }
        ],
    )


def test_an_edge_of_a_graph_is_a_relation_between_its_nodes_and_holds_from_valid_at() -> None:
    nodes = [{"uuid": "n1", "name": "Ada"}, {"uuid": "n2", "name": "Initech"}]
    file = parse_value({"nodes": nodes, "edges": [EDGE]})
    assert file.format == "graphiti"
    assert file.rows == [
        {
            "content": "Ada works at Initech",
            "type": "Relation",
            "subject": "Ada",
            "predicate": "works at",
            "object": "Initech",
            "entities": ["Ada", "Initech"],
            "created_at": "2024-02-01T00:00:00+00:00",
            "valid_from": "2024-01-01T00:00:00+00:00",
            "metadata": {"graphiti_uuid": "e1"},
        }
    ]


def test_edges_without_nodes_are_facts_alone() -> None:
    [body] = parse_value([EDGE]).rows
    assert body["content"] == "Ada works at Initech"
    assert not body.keys() & {"subject", "predicate", "object", "type"}


@pytest.mark.parametrize(
    ("value", "content", "metadata"),
    [
        ({"kind": "Memory", "content": {"content": "Likes tea"}}, "Likes tea", {"kind": "Memory"}),
        ({"memory": "Likes tea", "score": 3}, "Likes tea", {"score": 3}),
        ("Likes tea", "Likes tea", {}),
    ],
)
def test_a_langgraph_item_gives_its_text_and_its_user(value: Any, content: str, metadata: dict[str, Any]) -> None:
    item = {"namespace": ["memories", "ada"], "key": "k1", "value": value, "created_at": "2025-01-01T00:00:00+00:00"}
    file = parse_file("store.ndjson", lines(item, item))
    assert file.format == "langgraph"
    assert file.rows[0] == {
        "content": content,
        "user": "ada",
        "tags": ["memories"],
        "created_at": "2025-01-01T00:00:00+00:00",
        "metadata": {**metadata, "langgraph_key": "k1"},
    }


@pytest.mark.parametrize(
    "data",
    [lines(ENTITY, RELATION), json.dumps({"entities": [ENTITY], "relations": [RELATION]}).encode()],
    ids=["memory.jsonl", "read_graph"],
)
def test_the_mcp_graph_gives_a_memory_per_observation_and_relation(data: bytes) -> None:
    file = parse_file("memory.json", data)
    assert file.format == "mcp"
    assert [body["content"] for body in file.rows] == ["Ada: Speaks Dutch", "Ada runs", "Ada works at Initech"]
    assert file.rows[2] == {
        "content": "Ada works at Initech",
        "type": "Relation",
        "subject": "Ada",
        "predicate": "works at",
        "object": "Initech",
        "entities": ["Ada", "Initech"],
    }


def node(role: str, text: str, parent: str | None) -> dict[str, Any]:
    """A node of a ChatGPT conversation."""
    message = {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}, "create_time": 1.7e9}
    return {"message": message, "parent": parent}


def test_chatgpt_gives_the_turns_of_the_branch_that_was_shown() -> None:
    mapping = {
        "root": {"message": None, "parent": None},
        "a": node("user", "I moved to Lyon", "root"),
        "b": node("assistant", "old answer", "a"),
        "c": node("assistant", "Bienvenue!", "a"),
        "d": node("tool", "ignored", "c"),
    }
    conversation = {"title": "Moving", "conversation_id": "c1", "mapping": mapping, "current_node": "d"}
    file = parse_value([conversation])
    assert file.format == "chatgpt"
    assert file.rows == [
        {
            "session": "c1",
            "title": "Moving",
            "turns": [
                {"role": "user", "text": "I moved to Lyon", "said_at": "2023-11-14T22:13:20+00:00", "position": 1},
                {"role": "assistant", "text": "Bienvenue!", "said_at": "2023-11-14T22:13:20+00:00", "position": 2},
            ],
        }
    ]


def test_a_long_conversation_is_split_where_a_body_is_full() -> None:
    mapping = {str(n): node("user", f"turn {n}", str(n - 1) if n else None) for n in range(450)}
    rows = parse_value([{"mapping": mapping, "current_node": "449", "id": "long"}]).rows
    assert [len(row["turns"]) for row in rows] == [200, 200, 50]
    assert [row["turns"][0]["position"] for row in rows] == [1, 201, 401]
    assert {row["session"] for row in rows} == {"long"}


def test_recalls_own_bodies_stay_as_they_are() -> None:
    bodies = [{"content": "Ada plays chess", "tags": ["games"]}, {"session": "s", "turns": [{"role": "user"}]}]
    assert parse_file("own.ndjson", lines(*bodies)) == ParsedFile("recall", bodies)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_csv_file_is_a_table_whatever_parts_its_columns(delimiter: str) -> None:
    data = "\ufeff" + "\n".join(
        delimiter.join(row) for row in (["Text", "User ID"], ["Likes tea", "ada"], ["Runs", ""])
    )
    file = parse_file("memories.CSV", data.encode())
    assert file == ParsedFile(TABLE, [{"Text": "Likes tea", "User ID": "ada"}, {"Text": "Runs"}])


def test_columns_are_guessed_by_their_names_and_the_others_become_metadata() -> None:
    row = {"Text": "Likes tea", "User ID": 7, "Labels": "food; drink", "Date": "2025-03-01", "mood": "calm"}
    columns = guess_columns([row])
    assert columns == {"content": "Text", "user": "User ID", "tags": "Labels", "created_at": "Date"}
    assert map_columns(row, columns) == {
        "content": "Likes tea",
        "user": "7",
        "tags": ["food", "drink"],
        "created_at": "2025-03-01T00:00:00+00:00",
        "metadata": {"mood": "calm"},
    }


def test_without_a_column_of_that_name_the_longest_texts_are_the_content() -> None:
    rows = [{"who": "ada", "headline": "Ada likes tea", "n": 1}, {"who": "bob", "headline": "Bob runs", "n": 2}]
    assert guess_columns(rows) == {"content": "headline"}
    assert guess_columns([{"n": 1}]) == {}


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.json", b"", "no rows"),
        ("a.json", b"[]", "no rows"),
        ("a.json", b"{", "The file must be JSON"),
        ("a.json", b"\xff\xfe", "must be UTF-8"),
        ("a.json", b"[1, 2]", "must hold objects; got 1"),
        ("a.ndjson", b'{"content": "a"}\n{"content"', "Line 2 must be JSON"),
        ("a.csv", b"\xff\n", "must be UTF-8"),
        ("a.csv", b"content\n", "no rows"),
        ("a.csv", b"a,b\n" + b"x" * 200_000 + b",1\n", "must be CSV; after line 1"),
        ("a.json", b'[{"content": "\\ud800"}]', "cannot be stored: in row 1, content must be valid Unicode"),
        ("a.json", b'[{"content": "a\\u0000b"}]', "cannot be stored"),
        ("a.json", b'[{"mapping": {"a": 1}, "current_node": "a"}]', "looks like conversations of ChatGPT"),
        ("a.ndjson", b'{"recall": 1, "namespace": {}}\n{"table": "turn"}', "export of a whole namespace"),
    ],
    ids=itertools.count(),
)
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(name: str, data: bytes, message: str) -> None:
    with pytest.raises(UnreadableFileError, match=message):
        parse_file(name, data)


def test_every_format_has_a_title() -> None:
    assert all(format_title(name) for name in (*FORMATS, TABLE))


def test_a_file_with_a_row_of_another_form_is_a_table() -> None:
    file = parse_value([MEM0] * 60 + [{"note": "Likes tea"}])
    assert file.format == TABLE
    assert guess_columns(file.rows)["content"] == "memory"


def test_values_beyond_the_header_of_a_csv_file_are_kept() -> None:
    assert parse_file("a.csv", b"content\nLikes tea,green,hot\n").rows == [
        {"content": "Likes tea", "further values": ["green", "hot"]}
    ]
