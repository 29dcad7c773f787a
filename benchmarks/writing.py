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

FACTS = 1_000
LOCOMO = ROOT.parent / "shared" / "data" / "locomo" / "observations.jsonl"
DEMO = ROOT / "memories" / "demo" / "memories.jsonl"


def facts() -> list[str]:
    """Real observations where the benchmark data lies beside the project, else the demo's sentences with a number."""
    if LOCOMO.exists():
        return [json.loads(line)["text"] for line in LOCOMO.open()][:FACTS]
    said = [json.loads(line)["content"] for line in DEMO.open()]
    return [f"{said[place % len(said)]} ({place})" for place in range(FACTS)]


def main() -> None:
    """Time the embedding alone, and all of the writing; print their ratio."""
    call_command("migrate", interactive=False, verbosity=0)
    texts = facts()
    for name in ("all-MiniLM-L6-v2", "wordllama-256"):
        model = embedder(name)
        model.embed(texts[:16])
        began = time.perf_counter()
        model.embed(texts)
        alone = time.perf_counter() - began
        namespace = Namespace.objects.create(slug=f"benchmark-{os.getpid()}", title="Benchmark", embedder=name)
        try:
            news = [NewMemory(content=text, said=(Said("direct"),), session="benchmark") for text in texts]
            began = time.perf_counter()
            outcomes = remember(namespace, news, by="benchmark")
            whole = time.perf_counter() - began
        finally:
            namespace.delete()
        counts = {kind: sum(one.outcome == kind for one in outcomes) for kind in ("stored", "merged", "escalated")}
        beside = 1000 * (whole - alone) / len(texts)
        print(f"{name}: embedding {alone:.2f} s, remembering {whole:.2f} s, {whole / alone:.2f} × (aim 1.3)")
        print(f"  {beside:.2f} ms a fact beside its embedding; {counts}")


if __name__ == "__main__":
    main()
