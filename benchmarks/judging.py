"""Accuracy and latency of the offline judge on public labelled pairs."""

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from memories.providers.rules_judge import grounding, judge_contradiction, same
from scoring.contradiction import FactStatement, conflicts

DATA = ROOT.parent / "shared" / "data"
Labelled = tuple[str, str, bool]


def read_pair_file(name: str) -> Iterator[dict[str, Any]]:
    """Rows of a file; none if it does not exist."""
    path = DATA / name
    return map(json.loads, path.open()) if path.exists() else iter(())


def duplicates() -> dict[str, list[Labelled]]:
    """Paraphrase pairs without lexical conflicts; of STS-B only the clear-cut scores."""
    rows = {name: list(read_pair_file(f"pairs/{name}.jsonl")) for name in ("paws", "mrpc", "stsb")}
    pairs = {name: [(row["a"], row["b"], bool(row["label"])) for row in rows[name]] for name in ("paws", "mrpc")}
    clear = [row for row in rows["stsb"] if row["score"] >= 4.5 or row["score"] < 4]
    pairs["stsb"] = [(row["a"], row["b"], row["score"] >= 4.5) for row in clear]
    return {
        name: [pair for pair in labelled if not conflicts(FactStatement(pair[0]), FactStatement(pair[1]))]
        for name, labelled in pairs.items()
    }


def grounding_pairs() -> dict[str, list[Labelled]]:
    """Claims with supporting or refuting evidence; observations with their own or random turns."""
    fever = [
        (row["hypothesis"], row["premise"], row["label"] == "SUPPORTS")
        for row in read_pair_file("nli/fever_symmetric.jsonl")
    ]
    science = [
        (row["claim"], row["evidence"], row["label"] == "SUPPORT")
        for row in read_pair_file("scifact/claim_evidence_pairs.jsonl")
    ]
    turns = {row["id"]: row["text"] for row in read_pair_file("locomo/memories.jsonl")}
    observations = [
        (row["text"], " ".join(turns[source] for source in row["source"] if source in turns))
        for row in read_pair_file("locomo/observations.jsonl")
    ]
    observations = [pair for pair in observations if pair[1]]
    shuffled = [evidence for _, evidence in observations]
    random.Random(0).shuffle(shuffled)
    locomo = [(claim, evidence, True) for claim, evidence in observations]
    locomo += [(claim, evidence, False) for (claim, _), evidence in zip(observations, shuffled, strict=True)]
    return {"fever_symmetric": fever, "scifact": science, "locomo": locomo}


def print_confusion(title: str, verdict: Callable[[str, str], object], sets: dict[str, list[Labelled]]) -> None:
    """Print the confusion counts of each verdict."""
    print(title)
    for name, pairs in sets.items():
        if not pairs:
            print(f"  {name}: no data beside the project")
            continue
        began = time.perf_counter()
        verdicts = [verdict(first, second) for first, second, _ in pairs]
        microseconds = 1e6 * (time.perf_counter() - began) / len(pairs)
        counts = Counter(zip(verdicts, (label for *_, label in pairs), strict=True))
        columns = [
            f"{word} {counts[word, True]} : {counts[word, False]}"
            for word in sorted({word for word, _ in counts}, key=str, reverse=True)
        ]
        print(f"  {name}: {len(pairs)} pairs, true : false — {', '.join(columns)}; {microseconds:.0f} µs per pair")


def main() -> None:
    """Report on each of the judge's tasks."""
    print_confusion("Do two memories say the same?", same, duplicates())
    print_confusion("Does a text support a memory?", grounding, grounding_pairs())
    refuted = {
        name: [(first, second, not label) for first, second, label in pairs]
        for name, pairs in grounding_pairs().items()
        if name != "locomo"
    }
    print_confusion("Do two texts contradict each other?", judge_contradiction, refuted)


if __name__ == "__main__":
    main()
