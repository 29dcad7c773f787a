"""What embedding costs: loading, memory, one text, many texts; and MiniLM with its tokens' states."""

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

import django
import psutil

django.setup()

from memories.providers.embedder import EMBEDDERS, TokenEmbedder, embedder  # noqa: E402

ROUNDS = 100


def megabytes() -> float:
    """What this process holds in memory."""
    gc.collect()
    return psutil.Process().memory_info().rss / 1e6


def one_by_one(embed: Callable[[Sequence[str]], object], texts: Sequence[str]) -> float:
    """The median time of one text, in milliseconds."""
    times = []
    for text in texts[:ROUNDS]:
        began = time.perf_counter()
        embed([text])
        times.append(time.perf_counter() - began)
    return 1000 * sorted(times)[len(times) // 2]


def at_once(embed: Callable[[Sequence[str]], object], texts: Sequence[str]) -> float:
    """Texts per second, the better of two rounds."""
    times = []
    for _ in range(2):
        began = time.perf_counter()
        embed(texts)
        times.append(time.perf_counter() - began)
    return len(texts) / min(times)


def main() -> None:
    """Measure each shipped embedder on the demo world's memories."""
    demo = Path(__file__).parents[1] / "memories" / "demo" / "memories.jsonl"
    texts = [json.loads(line)["content"] for line in demo.read_text().splitlines()]
    print(f"{len(texts)} memories of the demo world, {os.cpu_count()} cores")
    for name in EMBEDDERS:
        before, began = megabytes(), time.perf_counter()
        model = embedder(name)
        model.embed(["warm"])
        print(f"{name}: loaded in {time.perf_counter() - began:.2f} s, {megabytes() - before:.0f} MB")
        many = texts if name == "all-MiniLM-L6-v2" else texts * 20
        print(f"  one text {one_by_one(model.embed, texts):.2f} ms, at once {at_once(model.embed, many):,.0f} texts/s")
        if isinstance(model, TokenEmbedder):
            sizes = [len(matrix.packed) for matrix in model.token_states(texts)]
            print(f"  with token states {at_once(model.embed_with_tokens, many):,.0f} texts/s", end="")
            print(f", {sum(sizes) / len(sizes):,.0f} bytes a memory")


if __name__ == "__main__":
    main()
