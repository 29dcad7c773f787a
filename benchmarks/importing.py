"""What importing costs as a namespace grows: 100,000 memories with wordllama, ten thousand by ten thousand."""

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

from recall_site import start  # noqa: E402

start.ensure_secret_key()
start.ensure_database()

import django  # noqa: E402

django.setup()

from django.core.management import call_command  # noqa: E402

from memories.bulk.importing import Import  # noqa: E402
from memories.models import Namespace  # noqa: E402

MEMORIES, STEP, BATCH = 100_000, 10_000, 500
AGAIN = 0.05  # of the lines say an earlier one again, and as many in other words
PROFILED = 2_000

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
WAYS = (
    "{who} {does} a {how} {what} in {where} {why}",
    "{when} {who} {does} the {how} {what} near {where}, {why}",
    "In {where} {who} {does} a {what} that was {how}, {when}",
    "The {how} {what} from {where} was what {who} {does} {when} {why}",
)


def lines(count: int) -> Iterator[str]:
    """Sentences as varied as few words allow, the same at each run; some are said again, some in other words."""
    chance = random.Random(7)
    said: list[dict[str, str]] = []
    for number in range(count):
        fate = chance.random()
        if said and fate < 2 * AGAIN:
            parts = dict(chance.choice(said))
            if fate < AGAIN:
                parts["way"] = chance.choice(WAYS)
        else:
            parts = drawn(chance)
            said.append(parts)
        content = parts["way"].format(**parts)
        body = {"content": content[0].upper() + content[1:], "source_level": "direct", "session": f"s{number // 20}"}
        yield json.dumps(body | {"entities": [parts["who"]], "tags": [parts["what"]]})


def drawn(chance: random.Random) -> dict[str, str]:
    """The parts of one sentence."""
    words = {"does": DOES, "how": HOW, "what": WHAT, "where": WHERE}
    parts = {name: chance.choice(all.split()) for name, all in words.items()}
    parts |= {"why": chance.choice(WHY.split("|")), "when": chance.choice(WHEN.split("|"))}
    who = f"{chance.choice(FIRST.split())} {chance.choice(LAST.split())}"
    return parts | {"who": who, "way": chance.choice(WAYS)}


def main() -> None:
    """Import, print what each ten thousand cost, and where the time goes at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--profile", action="store_true", help=f"show where the time of {PROFILED} more goes")
    options = parser.parse_args()
    call_command("migrate", interactive=False, verbosity=0)
    slug = f"benchmark-{os.getpid()}"
    namespace = Namespace.objects.create(slug=slug, title="Benchmark", embedder="wordllama-256")
    all = list(lines(options.memories + PROFILED))
    try:
        measure(namespace, all[: options.memories])
        if options.profile:
            profile(namespace, all[options.memories :])
    finally:
        namespace.delete()


def measure(namespace: Namespace, all: list[str]) -> None:
    """Time each ten thousand of one import."""
    work = begun(namespace, all)
    began = since = time.perf_counter()
    took = []
    for line in work.run(BATCH, lambda told: None):
        if line % STEP == 0:
            now = time.perf_counter()
            took.append(1000 * (now - since) / STEP)
            since = now
            print(f"{line:7d}: {took[-1]:.2f} ms a memory; {dict(work.mark.counts)}", flush=True)
    whole = time.perf_counter() - began
    print(f"{len(all)} memories in {whole:.0f} s (aim 300 for 100,000); {dict(work.mark.counts)}")
    if took:
        print(f"the last {STEP} cost {took[-1] / took[0]:.2f} × the first (aim 1.5)")


def profile(namespace: Namespace, some: list[str]) -> None:
    """Print the dearest functions of some more memories."""
    work = begun(namespace, some)
    with cProfile.Profile() as profiler:
        for _ in work.run(BATCH, lambda told: None):
            pass
    out = io.StringIO()
    stats = pstats.Stats(profiler, stream=out).strip_dirs()
    stats.sort_stats("cumulative").print_stats(45)
    stats.sort_stats("tottime").print_stats(20)
    print(out.getvalue())


def begun(namespace: Namespace, all: list[str]) -> Import:
    """An import of these lines."""
    stream = io.BytesIO("\n".join(all).encode())
    return Import.begun(namespace, "benchmark", stream, restart=True, by="benchmark")


if __name__ == "__main__":
    main()
