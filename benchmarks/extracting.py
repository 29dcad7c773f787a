"""How much of a real conversation the rule-based extractor keeps, and how well its memories are found.

For LoCoMo's questions: the share of evidence turns of which a memory was made, memories a turn, and Recall@10 of BM25,
MiniLM and both over the memories, each standing for its turn, beside the same over the turns themselves.
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

import django  # noqa: E402
import numpy as np  # noqa: E402

django.setup()

from memories.language.stopwords import FUNCTION_WORDS  # noqa: E402
from memories.models import Turn  # noqa: E402
from memories.providers.embedder import embedder  # noqa: E402
from memories.providers.extractor import Context, extractor  # noqa: E402

LOCOMO = ROOT.parent / "shared" / "data" / "locomo"
WORD = re.compile(r"\w+")
DATED = re.compile(r" \([^()]*\b(?:19|20)\d\d\)")
K1, B, TOP = 1.2, 0.75, 10


def lines(name: str) -> list[dict[str, Any]]:
    """The rows of a file of the data."""
    return [json.loads(line) for line in (LOCOMO / name).read_text().splitlines()]


def terms(text: str) -> list[str]:
    """Words as BM25 counts them, roughly stemmed."""
    return [word[:6] for word in WORD.findall(text.casefold()) if word not in FUNCTION_WORDS]


class Words:
    """Texts as BM25 sees them."""

    def __init__(self, texts: list[str]) -> None:
        counts = [Counter(terms(text)) for text in texts]
        self.lengths = np.array([max(count.total(), 1) for count in counts])
        self.postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, count in enumerate(counts):
            for word, frequency in count.items():
                self.postings[word].append((place, frequency))

    def bm25(self, query: str) -> np.ndarray:
        """The score of each text."""
        size, score = len(self.lengths), np.zeros(len(self.lengths))
        norm = K1 * (1 - B + B * self.lengths / self.lengths.mean())
        for found in (self.postings[word] for word in set(terms(query)) if word in self.postings):
            places, frequency = np.array(found).T
            rarity = math.log((size - len(found) + 0.5) / (len(found) + 0.5) + 1)
            score[places] += rarity * frequency * (K1 + 1) / (frequency + norm[places])
        return score


def scaled(score: np.ndarray) -> np.ndarray:
    """Between 0 and 1."""
    width = score.max() - score.min()
    return (score - score.min()) / width if width else np.zeros(len(score))


def recall(turns: list[str], score: np.ndarray, evidence: set[str]) -> float:
    """The share of the evidence among the first ten turns; several memories of one turn take one place."""
    best = list(dict.fromkeys(turns[place] for place in np.argsort(-score, kind="stable")))[:TOP]
    return len(evidence & set(best)) / len(evidence)


def nameless(text: str, names: set[str]) -> str:
    """A text without the speakers' names, which pull all vectors of a conversation together."""
    return re.sub(rf"\b(?:{'|'.join(names)})(?:'s)?\b:?", "", text)


def extracted(turns: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The memories of a conversation, each with its turn."""
    found = []
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
        news = extractor("rules").extract(rows, Context())
        found += [(ids[said.turn], new.content) for new in news for said in new.said if said.turn]
    return found


def main() -> None:
    """Read every conversation, measure, and show a sample to be judged by eye."""
    if not LOCOMO.exists():
        print("LoCoMo does not lie beside the project; nothing to measure")
        return
    by_conversation: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for turn in lines("memories.jsonl"):
        by_conversation[turn["conversation"]].append(turn)
    questions = [one for one in lines("queries.jsonl") if one["evidence"]]
    kept, evidence, recalls, sample = 0, set(), defaultdict(list), []
    covered: set[str] = set()
    count = spent = 0.0
    model = embedder("all-MiniLM-L6-v2")
    for conversation, turns in by_conversation.items():
        began = time.perf_counter()
        memories = extracted(turns)
        spent += time.perf_counter() - began
        count, kept = count + len(memories), kept + len({turn for turn, _ in memories})
        sample += [content for _, content in memories]
        covered |= {turn for turn, _ in memories}
        names = {turn["speaker"] for turn in turns}
        said = [(turn["id"], f"{turn['speaker']}: {turn['text']}") for turn in turns]
        corpora = {
            "turns": said,
            "memories": memories,
            "memories without dates": [(turn, DATED.sub("", text)) for turn, text in memories],
            "both": [*said, *memories],
        }
        ours = [one for one in questions if one["conversation"] == conversation]
        known = {turn["id"] for turn in turns}
        asked = model.embed([nameless(one["question"], names) for one in ours])
        for corpus, rows in corpora.items():
            ids, texts = [turn for turn, _ in rows], [text for _, text in rows]
            vectors, words = model.embed([nameless(text, names) for text in texts]), Words(texts)
            for one, vector in zip(ours, asked, strict=True):
                wanted = set(one["evidence"]) & known
                if not wanted:
                    continue
                evidence |= wanted
                lexical, semantic = words.bm25(one["question"]), vectors @ vector
                together = (scaled(lexical) + scaled(semantic)) / 2
                part = "adversarial" if one["category"] == 5 else "answerable"
                for way, score in (("BM25", lexical), ("MiniLM", semantic), ("both", together)):
                    recalls[corpus, way, part].append(recall(ids, score, wanted))
    total = sum(map(len, by_conversation.values()))
    print(f"{total} turns, {count:.0f} memories ({count / total:.2f} a turn, of {kept / total:.0%} of the turns)")
    print(f"{1000 * spent / total:.2f} ms a turn")
    print(f"evidence turns with a memory: {len(evidence & covered) / len(evidence):.3f} of {len(evidence)}")
    for (corpus, way, part), values in recalls.items():
        print(f"Recall@10 over {corpus:22} by {way:6} ({part}, {len(values)}): {np.mean(values):.3f}")
    if "--sample" in sys.argv:
        print(*random.Random(int(sys.argv[-1])).sample(sample, 40), sep="\n")


if __name__ == "__main__":
    main()
