"""Embedding: load time, memory, latency of one text, throughput of many; MiniLM also with token states."""

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

from memories.providers.embedder import EMBEDDERS, TokenEmbedder, embedder

ROUNDS = 100


def resident_megabytes() -> float:
    """Resident memory of this process."""
    gc.collect()
    return psutil.Process().memory_info().rss / 1e6


def single_text_ms(embed: Callable[[Sequence[str]], object], texts: Sequence[str]) -> float:
    """Median latency of one text in ms."""
    times = []
    for text in texts[:ROUNDS]:
        began = time.perf_counter()
        embed([text])
        times.append(time.perf_counter() - began)
    return 1000 * sorted(times)[len(times) // 2]


def texts_per_second(embed: Callable[[Sequence[str]], object], texts: Sequence[str]) -> float:
    """Texts per second, the better of two rounds."""
    times = []
    for _ in range(2):
        began = time.perf_counter()
        embed(texts)
        times.append(time.perf_counter() - began)
    return len(texts) / min(times)


def main() -> None:
    """Measure each shipped embedder on the demo's memories."""
    demo = Path(__file__).parents[1] / "memories" / "demo" / "memories.jsonl"
    texts = [json.loads(line)["content"] for line in demo.read_text().splitlines()]
    print(f"{len(texts)} memories of the demo world, {os.cpu_count()} cores")
    for name in EMBEDDERS:
        before, began = resident_megabytes(), time.perf_counter()
        model = embedder(name)
        model.embed(["warm"])
        print(f"{name}: loaded in {time.perf_counter() - began:.2f} s, {resident_megabytes() - before:.0f} MB")
        many = texts if name == "all-MiniLM-L6-v2" else texts * 20
        print(
            f"  one text p50 {single_text_ms(model.embed, texts):.2f} ms, "
            f"at once {texts_per_second(model.embed, many):,.0f} texts/s"
        )
        if isinstance(model, TokenEmbedder):
            sizes = [len(matrix.to_bytes()) for matrix in model.token_states(texts)]
            print(f"  with token states {texts_per_second(model.embed_with_tokens, many):,.0f} texts/s", end="")
            print(f", {sum(sizes) / len(sizes):,.0f} bytes per memory")


if __name__ == "__main__":
    main()
