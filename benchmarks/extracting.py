"""Rule-based extraction on LoCoMo: coverage of evidence turns, and Recall@10 over memories and over turns.

Prints the share of evidence turns with a memory, memories per turn, and Recall@10 of BM25, MiniLM and both over the
memories (each counts as its turn), the turns, and both.
"""

import json
import math
import os
import random
import re
import sys
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

import django
import numpy as np

django.setup()

from memories.models import Turn
from memories.providers.embedder import embedder
from memories.providers.extractor import extractor
from memories.text.stopwords import FUNCTION_WORDS

LOCOMO = ROOT.parent / "shared" / "data" / "locomo"
WORD = re.compile(r"\w+")
DATE_SUFFIX = re.compile(r" \([^()]*\b(?:19|20)\d\d\)")
K1, B, TOP = 1.2, 0.75, 10


def read_locomo(name: str) -> list[dict[str, Any]]:
    """Rows of a data file."""
    return [json.loads(line) for line in (LOCOMO / name).read_text().splitlines()]


def terms(text: str) -> list[str]:
    """Index terms, crudely stemmed."""
    return [word[:6] for word in WORD.findall(text.casefold()) if word not in FUNCTION_WORDS]


class BM25Index:
    """BM25 over a list of texts."""

    def __init__(self, texts: list[str]) -> None:
        counts = [Counter(terms(text)) for text in texts]
        self.lengths = np.array([max(count.total(), 1) for count in counts])
        self.postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for index, count in enumerate(counts):
            for word, frequency in count.items():
                self.postings[word].append((index, frequency))

    def bm25(self, query: str) -> np.ndarray:
        """The score of each text."""
        size, score = len(self.lengths), np.zeros(len(self.lengths))
        norm = K1 * (1 - B + B * self.lengths / self.lengths.mean())
        for postings in (self.postings[word] for word in set(terms(query)) if word in self.postings):
            rows, frequency = np.array(postings).T
            idf = math.log((size - len(postings) + 0.5) / (len(postings) + 0.5) + 1)
            score[rows] += idf * frequency * (K1 + 1) / (frequency + norm[rows])
        return score


def min_max_scaled(score: np.ndarray) -> np.ndarray:
    """Min–max scale to [0, 1]."""
    width = score.max() - score.min()
    return (score - score.min()) / width if width else np.zeros(len(score))


def evidence_recall(turns: list[str], score: np.ndarray, evidence: set[str]) -> float:
    """Share of the evidence in the top ten turns; memories of one turn share a rank."""
    best = list(dict.fromkeys(turns[row] for row in np.argsort(-score, kind="stable")))[:TOP]
    return len(evidence & set(best)) / len(evidence)


def strip_names(text: str, names: set[str]) -> str:
    """The text without speakers' names, which dominate the vectors of a conversation."""
    return re.sub(rf"\b(?:{'|'.join(names)})(?:'s)?\b:?", "", text)


def extract_memories(turns: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Memories extracted from a conversation, each with its turn."""
    memories = []
    for _, group in groupby(turns, key=lambda turn: turn["session"]):
        session = list(group)
        rows = [
            Turn(
                role="user",
                speaker=turn["speaker"],
                text=turn["text"],
                said_at=datetime.fromisoformat(turn["timestamp"]).replace(tzinfo=UTC),
            )
            for turn in session
        ]
        ids = {row.id: turn["id"] for row, turn in zip(rows, session, strict=True)}
        memories += [(ids[memory.turn_id], memory.content) for memory in extractor("rules").extract(rows)]
    return memories


def main() -> None:
    """Measure every conversation; with --sample SEED also print random memories for inspection."""
    if not LOCOMO.exists():
        print("no LoCoMo data beside the project; nothing to measure")
        return
    by_conversation: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for turn in read_locomo("memories.jsonl"):
        by_conversation[turn["conversation"]].append(turn)
    judged = [query for query in read_locomo("queries.jsonl") if query["evidence"]]
    with_memory, evidence, recalls, sample = 0, set(), defaultdict(list), []
    covered: set[str] = set()
    count = spent = 0.0
    model = embedder("all-MiniLM-L6-v2")
    for conversation, turns in by_conversation.items():
        began = time.perf_counter()
        memories = extract_memories(turns)
        spent += time.perf_counter() - began
        count, with_memory = count + len(memories), with_memory + len({turn for turn, _ in memories})
        sample += [content for _, content in memories]
        covered |= {turn for turn, _ in memories}
        names = {turn["speaker"] for turn in turns}
        utterances = [(turn["id"], f"{turn['speaker']}: {turn['text']}") for turn in turns]
        corpora = {
            "turns": utterances,
            "memories": memories,
            "memories without dates": [(turn, DATE_SUFFIX.sub("", text)) for turn, text in memories],
            "both": [*utterances, *memories],
        }
        queries = [query for query in judged if query["conversation"] == conversation]
        known = {turn["id"] for turn in turns}
        query_vectors = model.embed([strip_names(query["question"], names) for query in queries])
        for corpus, rows in corpora.items():
            ids, texts = [turn for turn, _ in rows], [text for _, text in rows]
            vectors, bm25 = model.embed([strip_names(text, names) for text in texts]), BM25Index(texts)
            for query, vector in zip(queries, query_vectors, strict=True):
                relevant = set(query["evidence"]) & known
                if not relevant:
                    continue
                evidence |= relevant
                lexical, semantic = bm25.bm25(query["question"]), vectors @ vector
                fused = (min_max_scaled(lexical) + min_max_scaled(semantic)) / 2
                split = "adversarial" if query["category"] == 5 else "answerable"
                for retriever, score in (("BM25", lexical), ("MiniLM", semantic), ("both", fused)):
                    recalls[corpus, retriever, split].append(evidence_recall(ids, score, relevant))
    total = sum(map(len, by_conversation.values()))
    print(f"{total} turns, {with_memory / total:.0%} with a memory; {count:.0f} memories, {count / total:.2f} per turn")
    print(f"{1000 * spent / total:.2f} ms per turn")
    print(f"evidence turns with a memory: {len(evidence & covered) / len(evidence):.3f} of {len(evidence)}")
    for (corpus, retriever, split), values in recalls.items():
        print(f"Recall@10 over {corpus:22} by {retriever:6} ({split}, {len(values)}): {np.mean(values):.3f}")
    if "--sample" in sys.argv:
        print(*random.Random(int(sys.argv[-1])).sample(sample, 40), sep="\n")


if __name__ == "__main__":
    main()
