"""Public datasets as namespaces of memories, with their queries."""

import json
import os
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from memories.contracts.new_memory import NewMemory, Utterance
from memories.demo.loader import load_demo_world
from memories.models import Entity, JudgedQuery, Memory, Namespace
from memories.models.choices import ChunkLevel, QueryKind
from memories.retrieval.query import Filters
from memories.text.name_index import store_entities
from memories.writing.remember import remember
from memories.writing.turns.conversation import Conversation, NewTurn
from memories.writing.turns.ingest import ingest
from scoring.dedup import normalize

DATA = Path(os.environ.get("RECALL_BENCH_DATA") or Path(__file__).parents[3] / "shared" / "data")
SLUG = "bench"
BATCH_SIZE = 500
SMALL_SIZES = (1, 3, 10)  # memories in a small namespace
SMALL_QUERIES = 40  # per size, each asked of a namespace that can answer it and of one that cannot


@dataclass(frozen=True)
class Case:
    """A query with its graded answers and filters."""

    namespace: Namespace
    text: str
    grades: dict[UUID, int]
    category: str
    fold: str = ""  # its conversation, for cross-validation
    as_of: datetime | None = None
    filters: Filters = field(default_factory=Filters)
    answerable: bool = True


def read_rows(name: str) -> list[dict[str, Any]]:
    """Rows of a data file."""
    with (DATA / f"{name}.jsonl").open() as lines:
        return [json.loads(line) for line in lines]


def parse_time(text: str) -> datetime:
    """Parse a timestamp of the data as UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def get_or_create_world(slug: str, clock: datetime | None = None) -> tuple[Namespace, bool]:
    """The namespace of this name, and whether it is new."""
    return Namespace.objects.get_or_create(slug=f"{SLUG}-{slug}", defaults={"title": slug, "clock": clock})


def group_by(items: list[dict[str, Any]], *names: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Group items by some of their values, in input order."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for item in items:
        groups[tuple(item[name] for name in names)].append(item)
    return groups


def store_items(namespace: Namespace, items: list[dict[str, Any]], new_memories: list[NewMemory]) -> None:
    """Store items; the metadata of each resulting memory lists its item ids."""
    for start in range(0, len(new_memories), BATCH_SIZE):
        outcomes = remember(namespace, new_memories[start : start + BATCH_SIZE], by="benchmark")
        for item, outcome in zip(items[start : start + BATCH_SIZE], outcomes, strict=True):
            memory = Memory.objects.within(namespace).get(id=outcome.memory.id)
            memory.metadata["names"] = [*memory.metadata.get("names", ()), item["id"]]
            memory.save(update_fields=["metadata"])


def memory_ids_by_item(namespace: Namespace) -> dict[str, UUID]:
    """Memory id of each item."""
    stored = Memory.objects.within(namespace).filter(metadata__has_key="names").values_list("id", "metadata")
    return {name: id for id, metadata in stored for name in metadata["names"]}


def create_speakers(namespace: Namespace, names: set[str]) -> None:
    """Register the speakers as entities."""
    people = (
        Entity(namespace=namespace, name=name, normalised=normalize(name), kind="person") for name in sorted(names)
    )
    store_entities(namespace, list(people))


def load_conversation(slug: str, items: list[dict[str, Any]], clock: datetime) -> tuple[Namespace, dict[str, UUID]]:
    """Ingest a conversation; each turn is an exchange of its own."""
    namespace, new = get_or_create_world(slug, clock)
    if new:
        create_speakers(namespace, {item["speaker"] for item in items})
        for (session,), turns in group_by(items, "session").items():
            utterances = [
                NewTurn(role="user", text=turn["text"], speaker=turn["speaker"], said_at=parse_time(turn["timestamp"]))
                for turn in turns
            ]
            ingested = ingest(
                namespace, Conversation(session=str(session), turns=utterances), by="benchmark", extract=False
            )
            for turn, row in zip(turns, ingested.turns, strict=True):
                chunk = Memory.objects.within(namespace).filter(turn_id=row.id, level=ChunkLevel.TURN)
                chunk.update(metadata={"names": [turn["id"]]}, created_at=parse_time(turn["timestamp"]))
    return namespace, memory_ids_by_item(namespace)


def locomo() -> Iterator[Case]:
    """LoCoMo, turn level, within one conversation."""
    turns = group_by(read_rows("locomo/memories"), "conversation")
    queries = group_by(read_rows("locomo/queries"), "conversation")
    for (name,), rows in queries.items():
        clock = parse_time(rows[0]["query_time"])
        namespace, ids = load_conversation(f"locomo-{name}", turns[(name,)], clock)
        for query in rows:
            grades = {ids[evidence]: 1 for evidence in query["evidence"] if evidence in ids}
            yield Case(
                namespace,
                query["question"],
                grades,
                query["category_name"],
                name,
                filters=Filters(levels=(ChunkLevel.TURN,)),
                answerable=query["category"] != 5,
            )


def realmem() -> Iterator[Case]:
    """RealMem: extracted memories, queried by later sessions as of their time."""
    start = datetime(2025, 1, 1, tzinfo=UTC)
    memories, queries = read_rows("realmem/memories"), group_by(read_rows("realmem/queries"), "conversation")
    for (name,), items in group_by(memories, "conversation").items():
        last = max(query["query_session_order"] for query in queries[(name,)])
        namespace, new = get_or_create_world(
            f"realmem-{name}".lower().replace("_", "-"), start + timedelta(days=last + 1)
        )
        if new:
            clock = namespace.clock
            for (order,), session_items in sorted(group_by(items, "session_order").items()):
                namespace.clock = start + timedelta(days=order)
                new_memories = [
                    NewMemory(content=item["text"], utterances=(Utterance("direct"),), session=item["session"])
                    for item in session_items
                ]
                store_items(namespace, session_items, new_memories)
            namespace.clock = clock
        ids = memory_ids_by_item(namespace)
        for query in queries[(name,)]:
            grades = {ids[evidence]: 1 for evidence in query["evidence"] if evidence in ids}
            as_of = start + timedelta(days=query["query_session_order"] - 0.5)
            yield Case(namespace, query["question"], grades, query["category"], name, as_of)


def scifact() -> Iterator[Case]:
    """SciFact: claims against abstracts."""
    namespace, new = get_or_create_world("scifact")
    if new:
        items = read_rows("scifact/corpus")
        new_memories = [NewMemory(content=f"{item['title']}\n{item['text']}"[:20_000]) for item in items]
        store_items(namespace, items, new_memories)
    ids, texts = memory_ids_by_item(namespace), {query["id"]: query["text"] for query in read_rows("scifact/queries")}
    relevant: dict[str, dict[UUID, int]] = defaultdict(dict)
    for line in (DATA / "scifact" / "qrels_train.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")
        relevant[query][ids[document]] = int(grade)
    for query, grades in relevant.items():
        yield Case(namespace, texts[query], grades, "claim")


def beam() -> Iterator[Case]:
    """BEAM: long chats with an assistant, one memory per message, some queries unanswerable."""
    messages = group_by(read_rows("beam/memories"), "conversation")
    queries = group_by(read_rows("beam/queries"), "conversation")
    for (name,), rows in queries.items():
        items = [message | {"timestamp": message.get("timestamp") or "2024-01-01"} for message in messages[(name,)]]
        namespace, new = get_or_create_world(name, max(parse_time(item["timestamp"]) for item in items))
        if new:
            store_items(namespace, items, [message_to_memory(item) for item in items])
        ids = memory_ids_by_item(namespace)
        for query in rows:
            grades = {ids[evidence]: 1 for evidence in query["evidence"] if evidence in ids}
            answerable = not query.get("unanswerable", False)
            yield Case(namespace, query["question"], grades, query["category"], name, answerable=answerable)


def message_to_memory(message: dict[str, Any]) -> NewMemory:
    """A chat message as a memory."""
    return NewMemory(
        content=message["text"][:20_000], session=str(message["session"]), created_at=parse_time(message["timestamp"])
    )


def longmemeval() -> Iterator[Case]:
    """LongMemEval: turns of many sessions; a query sees its own sessions and forty distractors."""
    items = read_rows("longmemeval/memories")
    namespace, new = get_or_create_world(
        "longmemeval", parse_time(max(query["query_time"] for query in read_rows("longmemeval/queries")))
    )
    if new:
        store_items(namespace, items, [replace(message_to_memory(item), tags=(item["session"],)) for item in items])
    ids = memory_ids_by_item(namespace)
    for query in read_rows("longmemeval/queries"):
        seen = tuple(session["id"] for session in (*query["sessions"], *query["distractors"]))
        grades = {ids[evidence]: 1 for evidence in query["evidence_turns"]}
        yield Case(
            namespace,
            query["question"],
            grades,
            query["category"],
            filters=Filters(tags=seen),
            answerable=not query["abstention"],
        )


def demo() -> Iterator[Case]:
    """The demo world with its judged queries."""
    namespace = Namespace.objects.filter(slug=f"{SLUG}-demo").first() or load_demo_world(f"{SLUG}-demo")
    for query in JudgedQuery.objects.within(namespace).prefetch_related("judgements").order_by("id"):
        grades = {judgement.memory_id: judgement.grade for judgement in query.judgements.all()}
        answerable = query.kind == QueryKind.ANSWERABLE
        yield Case(namespace, query.text, grades, query.category, query.split, answerable=answerable)


def small() -> Iterator[Case]:
    """LoCoMo's observations in namespaces of one to ten memories: an agent's first day.

    Each query is asked of its evidence among others' observations, and of others' alone.
    """
    observations = group_by(read_rows("locomo/observations"), "conversation")
    queries = [query for query in read_rows("locomo/queries_observations") if query["category"] != 5]
    dealt = random.Random(0)
    for size in SMALL_SIZES:
        for number, query in enumerate(dealt.sample(queries, SMALL_QUERIES)):
            items = observations[(query["conversation"],)]
            evidence = [item for item in items if item["id"] in query["evidence"]][:1]
            others = dealt.sample([item for item in items if item["id"] not in query["evidence"]], size)
            for answerable in (True, False):
                chosen = [*evidence, *others][:size] if answerable else others
                yield small_case(f"small-{size}-{number}-{int(answerable)}", chosen, query, answerable=answerable)


def small_case(slug: str, items: list[dict[str, Any]], query: dict[str, Any], *, answerable: bool) -> Case:
    """A query in a namespace of a few observations."""
    namespace, new = get_or_create_world(slug, parse_time(query["query_time"]))
    if new:
        said = [NewMemory(content=item["text"], created_at=parse_time(item["timestamp"])) for item in items]
        store_items(namespace, items, said)
    ids = memory_ids_by_item(namespace)
    grades = {ids[evidence]: 1 for evidence in query["evidence"] if evidence in ids}
    return Case(namespace, query["question"], grades, f"{len(items)} memories", answerable=answerable)


WORLDS = {
    "locomo": locomo,
    "realmem": realmem,
    "scifact": scifact,
    "longmemeval": longmemeval,
    "beam": beam,
    "demo": demo,
    "small": small,
}
