"""Public data as namespaces of memories, and the questions that are asked of them."""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from memories.demo.loading import load as load_demo
from memories.models import Entity, JudgedQuery, Memory, Namespace
from memories.models.choices import ChunkLevel, QueryKind
from memories.retrieval.query import Filters
from memories.turns.conversation import Conversation, NewTurn
from memories.turns.hearing import hear
from memories.writing.new_memory import NewMemory, Said
from memories.writing.remember import remember
from scoring.dedup import normalize

DATA = Path(os.environ.get("RECALL_BENCH_DATA") or Path(__file__).parents[3] / "shared" / "data")
SLUG = "bench"
TOGETHER = 500


@dataclass(frozen=True)
class Case:
    """A question, who answers it and how well, and what it may see."""

    namespace: Namespace
    text: str
    grades: dict[UUID, int]
    category: str
    fold: str = ""  # the conversation it belongs to, for leave-one-out
    as_of: datetime | None = None
    filters: Filters = field(default_factory=Filters)
    answerable: bool = True


def rows(name: str) -> list[dict[str, Any]]:
    """The lines of a file of the data."""
    with (DATA / f"{name}.jsonl").open() as lines:
        return [json.loads(line) for line in lines]


def moment(text: str) -> datetime:
    """A time as the data spell it."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def world(slug: str, clock: datetime | None = None) -> tuple[Namespace, bool]:
    """The namespace of this name, and whether it is new."""
    return Namespace.objects.get_or_create(slug=f"{SLUG}-{slug}", defaults={"title": slug, "clock": clock})


def grouped(items: list[dict[str, Any]], *names: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Items by some of their values, in the order they come."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for item in items:
        groups[tuple(item[name] for name in names)].append(item)
    return groups


def told(namespace: Namespace, items: list[dict[str, Any]], news: list[NewMemory]) -> None:
    """Remember items; each keeps its name in the metadata of whatever it became."""
    for start in range(0, len(news), TOGETHER):
        outcomes = remember(namespace, news[start : start + TOGETHER], by="benchmark")
        for item, outcome in zip(items[start : start + TOGETHER], outcomes, strict=True):
            memory = Memory.objects.within(namespace).get(id=outcome.memory.id)
            memory.metadata["names"] = [*memory.metadata.get("names", ()), item["id"]]
            memory.save(update_fields=["metadata"])


def named(namespace: Namespace) -> dict[str, UUID]:
    """Which memory each item became."""
    stored = Memory.objects.within(namespace).filter(metadata__has_key="names").values_list("id", "metadata")
    return {name: id for id, metadata in stored for name in metadata["names"]}


def people(namespace: Namespace, names: set[str]) -> None:
    """Make the speakers known."""
    Entity.objects.bulk_create(
        Entity(namespace=namespace, name=name, normalised=normalize(name), kind="person") for name in sorted(names)
    )


def spoken(slug: str, items: list[dict[str, Any]], clock: datetime) -> tuple[Namespace, dict[str, UUID]]:
    """A conversation between people, turn by turn; each turn is an exchange of its own."""
    namespace, new = world(slug, clock)
    if new:
        people(namespace, {item["speaker"] for item in items})
        for (session,), turns in grouped(items, "session").items():
            said = [
                NewTurn(role="user", text=turn["text"], speaker=turn["speaker"], said_at=moment(turn["timestamp"]))
                for turn in turns
            ]
            heard = hear(namespace, Conversation(session=str(session), turns=said), by="benchmark", extract=False)
            for turn, row in zip(turns, heard.turns, strict=True):
                chunk = Memory.objects.within(namespace).filter(turn_id=row.id, level=ChunkLevel.TURN)
                chunk.update(metadata={"names": [turn["id"]]}, created_at=moment(turn["timestamp"]))
    return namespace, named(namespace)


def locomo() -> Iterator[Case]:
    """LoCoMo, turn level: who said what, when; inside one conversation."""
    turns, questions = grouped(rows("locomo/memories"), "conversation"), grouped(rows("locomo/queries"), "conversation")
    for (name,), asked in questions.items():
        clock = moment(asked[0]["query_time"])
        namespace, ids = spoken(f"locomo-{name}", turns[(name,)], clock)
        for one in asked:
            grades = {ids[evidence]: 1 for evidence in one["evidence"] if evidence in ids}
            yield Case(
                namespace,
                one["question"],
                grades,
                one["category_name"],
                name,
                filters=Filters(levels=(ChunkLevel.TURN,)),
                answerable=one["category"] != 5,
            )


def realmem() -> Iterator[Case]:
    """RealMem: what an agent extracted, asked for by later sessions; nothing from then on may be seen."""
    start = datetime(2025, 1, 1, tzinfo=UTC)
    memories, questions = rows("realmem/memories"), grouped(rows("realmem/queries"), "conversation")
    for (name,), items in grouped(memories, "conversation").items():
        last = max(one["query_session_order"] for one in questions[(name,)])
        namespace, new = world(f"realmem-{name}".lower().replace("_", "-"), start + timedelta(days=last + 1))
        if new:
            clock = namespace.clock
            for (order,), some in sorted(grouped(items, "session_order").items()):
                namespace.clock = start + timedelta(days=order)
                news = [NewMemory(content=one["text"], said=(Said("direct"),), session=one["session"]) for one in some]
                told(namespace, some, news)
            namespace.clock = clock
        ids = named(namespace)
        for one in questions[(name,)]:
            grades = {ids[evidence]: 1 for evidence in one["evidence"] if evidence in ids}
            as_of = start + timedelta(days=one["query_session_order"] - 0.5)
            yield Case(namespace, one["question"], grades, one["category"], name, as_of)


def scifact() -> Iterator[Case]:
    """SciFact: claims against abstracts."""
    namespace, new = world("scifact")
    if new:
        items = rows("scifact/corpus")
        told(namespace, items, [NewMemory(content=f"{one['title']}\n{one['text']}"[:20_000]) for one in items])
    ids, texts = named(namespace), {one["id"]: one["text"] for one in rows("scifact/queries")}
    relevant: dict[str, dict[UUID, int]] = defaultdict(dict)
    for line in (DATA / "scifact" / "qrels_train.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")
        relevant[query][ids[document]] = int(grade)
    for query, grades in relevant.items():
        yield Case(namespace, texts[query], grades, "claim")


def beam() -> Iterator[Case]:
    """BEAM: long chats with an assistant, a memory for each message, and questions about what was never said."""
    messages, questions = grouped(rows("beam/memories"), "conversation"), grouped(rows("beam/queries"), "conversation")
    for (name,), asked in questions.items():
        items = [one | {"timestamp": one.get("timestamp") or "2024-01-01"} for one in messages[(name,)]]
        namespace, new = world(name, max(moment(one["timestamp"]) for one in items))
        if new:
            told(namespace, items, [message(one) for one in items])
        ids = named(namespace)
        for one in asked:
            grades = {ids[evidence]: 1 for evidence in one["evidence"] if evidence in ids}
            answerable = not one.get("unanswerable", False)
            yield Case(namespace, one["question"], grades, one["category"], name, answerable=answerable)


def message(one: dict[str, Any]) -> NewMemory:
    """What was said in a chat, as a memory."""
    return NewMemory(content=one["text"][:20_000], session=str(one["session"]), created_at=moment(one["timestamp"]))


def longmemeval() -> Iterator[Case]:
    """LongMemEval: turns of many sessions; a question sees its own sessions and forty others."""
    items = rows("longmemeval/memories")
    namespace, new = world("longmemeval", moment(max(one["query_time"] for one in rows("longmemeval/queries"))))
    if new:
        told(namespace, items, [replace(message(one), tags=(one["session"],)) for one in items])
    ids = named(namespace)
    for one in rows("longmemeval/queries"):
        seen = tuple(session["id"] for session in (*one["sessions"], *one["distractors"]))
        grades = {ids[evidence]: 1 for evidence in one["evidence_turns"]}
        yield Case(
            namespace,
            one["question"],
            grades,
            one["category"],
            filters=Filters(tags=seen),
            answerable=not one["abstention"],
        )


def demo() -> Iterator[Case]:
    """The demo world with its judged queries."""
    namespace = Namespace.objects.filter(slug=f"{SLUG}-demo").first() or load_demo(f"{SLUG}-demo")
    for query in JudgedQuery.objects.within(namespace).prefetch_related("judgements").order_by("id"):
        grades = {one.memory_id: one.grade for one in query.judgements.all()}
        answerable = query.kind == QueryKind.ANSWERABLE
        yield Case(namespace, query.text, grades, query.category, query.part, answerable=answerable)


WORLDS = {
    "locomo": locomo,
    "realmem": realmem,
    "scifact": scifact,
    "longmemeval": longmemeval,
    "beam": beam,
    "demo": demo,
}
