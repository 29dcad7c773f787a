"""Which pairs are called contradictions, and which are merged, on labelled pairs: precision, recall, false merges."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

import django

django.setup()

import numpy as np

from memories.providers.embedder import embedder
from memories.writing.comparison import contradiction_reason
from scoring.contradiction import FactStatement, conflicts, contradicts, restates
from scoring.policy import EMBEDDER_THRESHOLDS, policy_for
from scoring.term import Array
from tests.support.contradiction_pairs import labelled_pairs

DATA = ROOT.parent / "shared" / "data"
DUPLICATE_FROM, OTHER_BELOW = 4.5, 4.0  # STS-B scores


class TextPair(NamedTuple):
    """Two texts, and whether they say the same; None: neither clearly."""

    first: str
    second: str
    same: bool | None


def main() -> None:
    """Print the tables of docs/measurements.md."""
    print_written_pairs()
    print_public_pairs()
    print_beliefs()
    paraphrases = {name: read_pairs(name) for name in ("paws", "mrpc")}
    tuning = read_pairs("stsb", split="train")
    if not (tuning and all(paraphrases.values())):
        print("Merges: no data beside the project")
        return
    for name in EMBEDDER_THRESHOLDS:
        cosines = pair_cosines(name, tuning)
        print_threshold_choice(name, tuning, cosines)
        for data, pairs in paraphrases.items():
            print_merges(name, data, pairs)


def print_written_pairs() -> None:
    """Precision and recall of `contradicts` on the project's own pairs, by split and kind."""
    print("Own pairs: found / labelled contradictions, false, precision, recall")
    for split in ("tune", "holdout"):
        found: Counter[str] = Counter()
        kinds: Counter[tuple[str, bool, bool]] = Counter()
        for pair in labelled_pairs(split):
            is_one, called = pair.label == "contradicts", bool(contradiction_reason(pair.first, pair.second))
            found["true" if is_one and called else "false" if called else "missed" if is_one else "left"] += 1
            kinds[pair.kind, is_one, called] += 1
        total = found["true"] + found["missed"]
        precision = found["true"] / max(1, found["true"] + found["false"])
        print(
            f"  {split}, {found.total()} pairs: {found['true']} / {total}, {found['false']} false, "
            f"precision {precision:.3f}, recall {found['true'] / total:.3f}"
        )
        for kind in sorted({kind for kind, *_ in kinds}):
            here = {key[1:]: count for key, count in kinds.items() if key[0] == kind}
            ones, others = here.get((True, True), 0), here.get((False, True), 0)
            print(f"    {kind}: {ones} of {ones + here.get((True, False), 0)}, {others} false")


def print_public_pairs() -> None:
    """How many public pairs of each label are called contradictions."""
    print("Public pairs: called contradictions / pairs, by label")
    sets = {
        "fever_symmetric": read_rows("nli/fever_symmetric.jsonl", "premise", "hypothesis", "label"),
        "scifact": read_rows("scifact/claim_evidence_pairs.jsonl", "claim", "evidence", "label"),
        "paws": read_rows("pairs/paws.jsonl", "a", "b", "label"),
        "mrpc": read_rows("pairs/mrpc.jsonl", "a", "b", "label"),
        "stsb, by score": [
            (a, b, round(float(score))) for a, b, score in read_rows("pairs/stsb.jsonl", "a", "b", "score")
        ],
    }
    for name, rows in sets.items():
        counts: Counter[tuple[Any, bool]] = Counter(
            (label, bool(contradicts(FactStatement(first), FactStatement(second)))) for first, second, label in rows
        )
        labels = sorted({label for label, _ in counts}, key=str)
        shown = ", ".join(
            f"{label} {counts[label, True]} / {counts[label, True] + counts[label, False]}" for label in labels
        )
        print(f"  {name}: {shown or 'no data beside the project'}")


def print_beliefs() -> None:
    """Pairs of one user's beliefs that are called contradictions; a superseded belief and its successor may be one."""
    path = DATA / "precisionmembench" / "beliefs.seed.json"
    beliefs = json.loads(path.read_text()) if path.exists() else []
    successors = {frozenset((one["_id"], one["superseded_by"])) for one in beliefs if one["superseded_by"]}
    called = [
        frozenset((one["_id"], other["_id"]))
        for one, other in combinations(beliefs, 2)
        if contradicts(FactStatement(one["content"]), FactStatement(other["content"]))
    ]
    print(
        f"  precisionmembench: of {len(beliefs)} beliefs {len(called)} pairs called contradictions, "
        f"{len(successors & set(called))} of {len(successors)} superseded ones"
    )


def print_threshold_choice(name: str, pairs: Sequence[TextPair], cosines: Array) -> None:
    """What each shipped threshold lets through on the STS-B training pairs."""
    other = np.array([pair.same is False for pair in pairs])
    same = np.array([pair.same is True for pair in pairs])
    print(f"{name} on STS-B train: share above of other ({other.sum()}) and of same pairs ({same.sum()})")
    policy = policy_for(name)
    for param in EMBEDDER_THRESHOLDS["wordllama-256"]:
        value = getattr(policy, param)
        above = cosines > value
        print(f"  {param} {value:.2f}: other {above[other].mean():.3f}, same {above[same].mean():.3f}")


def print_merges(name: str, data: str, pairs: Sequence[TextPair]) -> None:
    """False and missed merges at the shipped thresholds: by cosine, with conflicts, and with the check of the words."""
    policy, cosines = policy_for(name), pair_cosines(name, pairs)
    statements = [(FactStatement(pair.first), FactStatement(pair.second)) for pair in pairs]
    close = cosines > policy.dedup_duplicate
    free = np.array([not conflicts(*pair) for pair in statements])
    restated = np.array([restates(*pair) for pair in statements])
    same = np.array([bool(pair.same) for pair in pairs])
    judged = (cosines >= policy.dedup_escalate) & free & ~(close & restated)
    print(f"{name} on {data}: {same.sum()} same, {(~same).sum()} other, threshold {policy.dedup_duplicate:.2f}")
    for title, merged in (
        ("cosine alone", close),
        ("without conflicts", close & free),
        ("as shipped", close & free & restated),
    ):
        true, false = int((merged & same).sum()), int((merged & ~same).sum())
        print(
            f"  {title}: {false} false merges ({false / max(1, true + false):.1%} of merges, "
            f"{false / max(1, int((~same).sum())):.1%} of other pairs), {int(same.sum()) - true} missed"
        )
    print(f"  to a judge: {int((judged & same).sum())} same, {int((judged & ~same).sum())} other")


def read_pairs(name: str, split: str = "") -> list[TextPair]:
    """Text pairs of a file; of STS-B only the clear-cut scores say the same or not."""
    pairs = []
    for row in read_json_lines(f"pairs/{name}.jsonl"):
        if split in ("", row["split"]):
            same = bool(row["label"]) if "label" in row else same_by_score(row["score"])
            pairs.append(TextPair(row["a"], row["b"], same))
    return pairs


def same_by_score(score: float) -> bool | None:
    """Whether an STS-B score means the same."""
    return True if score >= DUPLICATE_FROM else False if score < OTHER_BELOW else None


def read_rows(name: str, *columns: str) -> list[tuple[Any, ...]]:
    """Columns of a file's rows."""
    return [tuple(row[column] for column in columns) for row in read_json_lines(name)]


def read_json_lines(name: str) -> Iterable[dict[str, Any]]:
    """The rows of a file beside the project; none if it does not exist."""
    path = DATA / name
    return map(json.loads, path.open(encoding="utf-8")) if path.exists() else ()


def pair_cosines(name: str, pairs: Sequence[TextPair]) -> Array:
    """The cosine of each pair."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair[:2]))
    rows = {text: row for row, text in enumerate(texts)}
    vectors = np.asarray(embedder(name).embed(texts), dtype=np.float32) if texts else np.empty((0, 1), np.float32)
    one, other = ([rows[pair[side]] for pair in pairs] for side in (0, 1))
    return np.einsum("ij,ij->i", vectors[one], vectors[other])


if __name__ == "__main__":
    main()
