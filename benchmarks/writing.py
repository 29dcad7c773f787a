"""What storing costs beside embedding: facts in one batch of 1,000, with MiniLM and with wordllama."""

import json
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

from recall_site import start  # noqa: E402

start.ensure_secret_key()
start.ensure_database()

import django  # noqa: E402

django.setup()

from django.core.management import call_command  # noqa: E402

from memories.models import Namespace  # noqa: E402
from memories.providers.embedder import embedder  # noqa: E402
from memories.writing.new_memory import NewMemory, Said  # noqa: E402
from memories.writing.remember import remember  # noqa: E402

FACTS, ROUNDS = 1_000, 3
LOCOMO = ROOT.parent / "shared" / "data" / "locomo" / "observations.jsonl"
DEMO = ROOT / "memories" / "demo" / "memories.jsonl"


def facts() -> list[str]:
    """Real observations where the benchmark data lies beside the project, else the demo's sentences with a number."""
    if LOCOMO.exists():
        return [json.loads(line)["text"] for line in LOCOMO.open()][:FACTS]
    said = [json.loads(line)["content"] for line in DEMO.open()]
    return [f"{said[place % len(said)]} ({place})" for place in range(FACTS)]


def main() -> None:
    """Time the embedding alone and all of the writing, by turns; print the ratio of the best of each."""
    call_command("migrate", interactive=False, verbosity=0)
    texts = facts()
    for name in ("all-MiniLM-L6-v2", "wordllama-256"):
        embedder(name).embed(texts[:16])
        # Other work on the machine only ever adds time, so the least is the truest.
        rounds = [(embedded(name, texts), *remembered(name, texts)) for _ in range(ROUNDS)]
        alone, whole = min(one[0] for one in rounds), min(one[1] for one in rounds)
        beside = 1000 * (whole - alone) / len(texts)
        print(f"{name}: embedding {alone:.2f} s, remembering {whole:.2f} s, {whole / alone:.2f} × (aim 1.3 for MiniLM)")
        print(f"  {beside:.2f} ms a fact beside its embedding; {rounds[0][2]}")


def embedded(name: str, texts: list[str]) -> float:
    """Seconds to embed alone."""
    began = time.perf_counter()
    embedder(name).embed(texts)
    return time.perf_counter() - began


def remembered(name: str, texts: list[str]) -> tuple[float, dict[str, int]]:
    """Seconds to remember in a new namespace, and what became of the texts."""
    namespace = Namespace.objects.create(slug=f"benchmark-{os.getpid()}", title="Benchmark", embedder=name)
    try:
        news = [NewMemory(content=text, said=(Said("direct"),), session="benchmark") for text in texts]
        began = time.perf_counter()
        outcomes = remember(namespace, news, by="benchmark")
        whole = time.perf_counter() - began
    finally:
        namespace.delete()
    return whole, {kind: sum(one.outcome == kind for one in outcomes) for kind in ("stored", "merged", "escalated")}


if __name__ == "__main__":
    main()
