"""Import throughput as a namespace grows: 100,000 memories with wordllama, timed per ten thousand."""

import argparse
import cProfile
import io
import json
import os
import pstats
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

from recall_site import start

start.ensure_secret_key()
start.ensure_database()

import django

django.setup()

from django.core.management import call_command

from memories.models import Namespace
from memories.transfer.import_file import FileImport
from memories.web.memory_body import validate_memories

MEMORIES, STEP, BATCH = 100_000, 10_000, 500
REPEAT_RATE = 0.05  # share of lines that repeat an earlier one; as many paraphrase one
PROFILE_SIZE = 2_000

FIRST = "Maya Jonas Ines Tomas Priya Kenji Lena Omar Sofia Pavel Aisha Marco Greta Diego Hana Felix Nadia Samir Clara"
LAST = "Brandt Okafor Lindqvist Moreau Tanaka Novak Silva Haddad Kowalski Byrne Castillo Ivanova Mensah Weber Rossi"
DOES = (
    "repaired sold painted borrowed designed measured photographed translated planted tested shipped recorded rebuilt "
    "sketched tuned archived reviewed baked ordered catalogued insured inspected renamed mapped polished"
)
HOW = (
    "rusty portable antique wooden encrypted solar waterproof miniature foldable ceramic noisy spare bilingual faulty "
    "handmade magnetic rented prototype leather quarterly frozen digital borrowed striped hollow"
)
WHAT = (
    "bicycle ledger telescope piano dashboard kayak greenhouse invoice violin router cookbook drone turbine bookshelf "
    "parser aquarium contract lantern tractor database sculpture backpack engine calendar thermostat mural printer "
    "sailboat microscope cluster saddle billboard compiler hammock projector vineyard oven glossary antenna carpet"
)
WHERE = (
    "Lisbon Oslo Kyoto Nairobi Toronto Prague Lima Hanoi Cork Basel Tunis Quito Riga Perth Zagreb Accra Leeds Bergen "
    "Porto Ghent Izmir Cusco Turku Malaga Busan"
)
WHY = (
    "because the warranty had ended|after the flood in the cellar|for the school fair|to win a bet with a neighbour|"
    "while the office was closed|before the auditors arrived|since the old one kept failing|as a wedding present|"
    "to save electricity|when the supplier went bankrupt|against the advice of the doctor|for a museum of sport|"
    "during the long strike|because customers had complained|to learn the craft properly|after reading about it"
)
WHEN = "on Monday|last winter|in the spring|at dawn|over the weekend|two days late|in early June|around noon"
TEMPLATES = (
    "{who} {does} a {how} {what} in {where} {why}",
    "{when} {who} {does} the {how} {what} near {where}, {why}",
    "In {where} {who} {does} a {what} that was {how}, {when}",
    "The {how} {what} from {where} was what {who} {does} {when} {why}",
)


def generate_lines(count: int) -> Iterator[str]:
    """Deterministic random sentences; some repeat or paraphrase an earlier one."""
    rng = random.Random(7)
    earlier: list[dict[str, str]] = []
    for number in range(count):
        kind = rng.random()
        if earlier and kind < 2 * REPEAT_RATE:
            parts = dict(rng.choice(earlier))
            if kind < REPEAT_RATE:
                parts["way"] = rng.choice(TEMPLATES)
        else:
            parts = random_parts(rng)
            earlier.append(parts)
        content = parts["way"].format(**parts)
        body = {"content": content[0].upper() + content[1:], "source_level": "direct", "session": f"s{number // 20}"}
        yield json.dumps(body | {"entities": [parts["who"]], "tags": [parts["what"]]})


def random_parts(rng: random.Random) -> dict[str, str]:
    """Random parts of one sentence."""
    words = {"does": DOES, "how": HOW, "what": WHAT, "where": WHERE}
    parts = {name: rng.choice(choices.split()) for name, choices in words.items()}
    parts |= {"why": rng.choice(WHY.split("|")), "when": rng.choice(WHEN.split("|"))}
    who = f"{rng.choice(FIRST.split())} {rng.choice(LAST.split())}"
    return parts | {"who": who, "way": rng.choice(TEMPLATES)}


def main() -> None:
    """Import, print the time per memory of each ten thousand, and optionally a profile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--profile", action="store_true", help=f"profile {PROFILE_SIZE} more")
    options = parser.parse_args()
    call_command("migrate", interactive=False, verbosity=0)
    slug = f"benchmark-{os.getpid()}"
    namespace = Namespace.objects.create(slug=slug, title="Benchmark", embedder="wordllama-256")
    generated = list(generate_lines(options.memories + PROFILE_SIZE))
    try:
        time_import(namespace, generated[: options.memories])
        if options.profile:
            profile(namespace, generated[options.memories :])
    finally:
        namespace.delete()


def time_import(namespace: Namespace, lines: list[str]) -> None:
    """Time an import per ten thousand memories."""
    work = start_import(namespace, lines)
    began = since = time.perf_counter()
    took = []
    for line in work.run(BATCH, lambda progress: None):
        if line % STEP == 0:
            now = time.perf_counter()
            took.append(1000 * (now - since) / STEP)
            since = now
            print(f"{line:7d}: {took[-1]:.2f} ms per memory; {dict(work.checkpoint.counts)}", flush=True)
    total = time.perf_counter() - began
    print(f"{len(lines)} memories in {total:.0f} s (target 300 for 100,000); {dict(work.checkpoint.counts)}")
    if took:
        print(f"the last {STEP} cost {took[-1] / took[0]:.2f} × the first (target 1.5)")


def profile(namespace: Namespace, lines: list[str]) -> None:
    """Profile the import of more memories."""
    work = start_import(namespace, lines)
    with cProfile.Profile() as profiler:
        for _ in work.run(BATCH, lambda progress: None):
            pass
    out = io.StringIO()
    stats = pstats.Stats(profiler, stream=out).strip_dirs()
    stats.sort_stats("cumulative").print_stats(45)
    stats.sort_stats("tottime").print_stats(20)
    print(out.getvalue())


def start_import(namespace: Namespace, lines: list[str]) -> FileImport:
    """Start an import of these lines."""
    stream = io.BytesIO("\n".join(lines).encode())
    return FileImport.begin(namespace, "benchmark", stream, restart=True, by="benchmark", validate=validate_memories)


if __name__ == "__main__":
    main()
