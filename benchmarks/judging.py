"""How right the offline judge is, on public pairs where they lie beside the project, and what it costs."""

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

from memories.providers.rules_judge import contradicts, grounding, same  # noqa: E402
from scoring.contradiction import Statement, conflicts  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
Labelled = tuple[str, str, bool]


def lines(name: str) -> Iterator[dict[str, Any]]:
    """The rows of a file; none where it is not there."""
    path = DATA / name
    return map(json.loads, path.open()) if path.exists() else iter(())


def duplicates() -> dict[str, list[Labelled]]:
    """Pairs that mean the same or not; of STS-B those that people agree on, and no pair that the write path parts."""
    rows = {name: list(lines(f"pairs/{name}.jsonl")) for name in ("paws", "mrpc", "stsb")}
    pairs = {name: [(row["a"], row["b"], bool(row["label"])) for row in rows[name]] for name in ("paws", "mrpc")}
    agreed = [row for row in rows["stsb"] if row["score"] >= 4.5 or row["score"] < 4]
    pairs["stsb"] = [(row["a"], row["b"], row["score"] >= 4.5) for row in agreed]
    return {
        name: [row for row in some if not conflicts(Statement(row[0]), Statement(row[1]))]
        for name, some in pairs.items()
    }


def claims() -> dict[str, list[Labelled]]:
    """Claims that their text bears out, or refutes; and observations with their own turns, or with turns at random."""
    fever = [
        (row["hypothesis"], row["premise"], row["label"] == "SUPPORTS") for row in lines("nli/fever_symmetric.jsonl")
    ]
    science = [
        (row["claim"], row["evidence"], row["label"] == "SUPPORT")
        for row in lines("scifact/claim_evidence_pairs.jsonl")
    ]
    turns = {row["id"]: row["text"] for row in lines("locomo/memories.jsonl")}
    heard = [
        (row["text"], " ".join(turns[source] for source in row["source"] if source in turns))
        for row in lines("locomo/observations.jsonl")
    ]
    heard = [pair for pair in heard if pair[1]]
    others = [text for _, text in heard]
    random.Random(0).shuffle(others)
    locomo = [(said, text, True) for said, text in heard]
    locomo += [(said, text, False) for (said, _), text in zip(heard, others, strict=True)]
    return {"fever_symmetric": fever, "scifact": science, "locomo": locomo}


def report(title: str, verdict: Callable[[str, str], object], sets: dict[str, list[Labelled]]) -> None:
    """Print how often each verdict was given, where it was true and where it was not."""
    print(title)
    for name, pairs in sets.items():
        if not pairs:
            print(f"  {name}: no data beside the project")
            continue
        began = time.perf_counter()
        given = [verdict(one, other) for one, other, _ in pairs]
        each = 1e6 * (time.perf_counter() - began) / len(pairs)
        counts = Counter(zip(given, (label for *_, label in pairs), strict=True))
        shown = [
            f"{word} {counts[word, True]} : {counts[word, False]}"
            for word in sorted({word for word, _ in counts}, key=str, reverse=True)
        ]
        print(f"  {name}: {len(pairs)} pairs, true : false — {', '.join(shown)}; {each:.0f} µs a pair")


def main() -> None:
    """Report on each of the judge's questions."""
    report("Do two memories say the same?", same, duplicates())
    report("Does a text bear a memory out?", grounding, claims())
    refuted = {
        name: [(a, b, not label) for a, b, label in pairs] for name, pairs in claims().items() if name != "locomo"
    }
    report("Do two texts contradict each other?", contradicts, refuted)


if __name__ == "__main__":
    main()
