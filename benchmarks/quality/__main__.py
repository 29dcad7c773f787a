"""Measure retrieval on public data: every system, every retriever left out, constants chosen on other folds."""

import argparse
import itertools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

from recall_site import start  # noqa: E402

start.ensure_secret_key()
start.ensure_database()

import django  # noqa: E402

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from benchmarks.quality.measuring import Asked, ask, by_category, mean, measured, roc  # noqa: E402
from benchmarks.quality.worlds import DATA, SLUG, WORLDS  # noqa: E402
from memories.models import Namespace  # noqa: E402
from scoring.systems import SYSTEMS  # noqa: E402
from scoring.systems.blend import ROUTES, BlendParams  # noqa: E402

GRID = {"rerank": (0.6, 0.7, 0.75, 0.8), "weight_semantic": (0.5, 0.6, 0.7), "entity_boost": (0.5, 1.0, 1.25)}


def main() -> None:
    """Load what is missing, ask everything, print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", nargs="*", default=list(WORLDS), help=f"of {', '.join(WORLDS)}")
    parser.add_argument("--systems", action="store_true", help="every system, not the default alone")
    parser.add_argument("--fresh", action="store_true", help="load the data anew")
    options = parser.parse_args()
    if not DATA.exists():
        print(f"There is no data at {DATA}: nothing to measure.")
        return
    call_command("migrate", interactive=False, verbosity=0)
    if options.fresh:
        for namespace in Namespace.objects.filter(slug__startswith=f"{SLUG}-"):
            namespace.delete()
    for name in options.worlds:
        report(name, every=options.systems)


def report(name: str, *, every: bool) -> None:
    """One world: the default by category, without each retriever, left-out folds, abstention, and the other systems."""
    began = time.perf_counter()
    cases = list(WORLDS[name]())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    print(f"\n{name}: {len(cases)} questions, loaded in {time.perf_counter() - began:.0f} s", flush=True)
    for system in [name for name in SYSTEMS if name != "blend"] if every else ():
        print(f"  {system:12} {mean(measured(ask(cases, system, progress(len(cases)))))}", flush=True)
    began = time.perf_counter()
    asked = ask(cases, "blend", progress(len(cases)))
    took = 1000 * (time.perf_counter() - began) / len(cases)
    print(f"  blend        {mean(measured(asked))}  ({took:.0f} ms a question)")
    for category, told in by_category(asked).items():
        print(f"    {category:24} {told}")
    for route in ROUTES:
        print(f"    without {route:16} {mean(measured(asked, without(route)))}")
    print(f"    without reranking        {mean(measured(asked, BlendParams(rerank=0.0)))}")
    folds = sorted({one.case.fold for one in asked})
    if len(folds) > 2:
        left_out(asked, folds)
    area, caught = roc(asked)
    if caught:
        told = ", ".join(f"{share:.2f} at {lost:.0%} lost" for lost, share in caught.items())
        withheld = [one.retrieval.ranking.abstained for one in asked if not one.case.answerable]
        lost = [one.retrieval.ranking.abstained for one in asked if one.case.answerable]
        print(f"    abstention: AUC {area:.3f}; never-stored caught {told}")
        print(f"      at the shipped threshold {np.mean(withheld):.2f} caught, {np.mean(lost):.3f} lost", flush=True)


def without(route: str) -> BlendParams:
    """The defaults without what one retriever brings."""
    moved = {f"weight_{route}": 0.0} | ({f"{route}_boost": 0.0} if route in ("entity", "temporal") else {})
    return BlendParams(**moved)


def left_out(asked: list[Asked], folds: list[str]) -> None:
    """Choose constants on all folds but one and measure on that one, for each."""
    settings = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    table = {
        str(one): measured(asked, BlendParams(**one, weight_bm25=round(1 - one["weight_semantic"], 2)))
        for one in settings
    }
    fold_of = np.array([one.case.fold for one in asked if one.case.answerable and any(one.case.grades.values())])
    parts: dict[str, list[np.ndarray]] = {}
    for fold in folds:
        rest = fold_of != fold
        best = max(settings, key=lambda one: float(table[str(one)]["nDCG@10"][rest].mean()))
        for name, values in table[str(best)].items():
            parts.setdefault(name, []).append(values[~rest])
        print(f"    chosen without {fold:12} {best}")
    print(f"    left one out             {mean({name: np.concatenate(some) for name, some in parts.items()})}")


def progress(total: int) -> Callable[[int], None]:
    """Tell how far it is, on a terminal."""

    def tell(done: int) -> None:
        if sys.stderr.isatty():
            print(f"\r  {done} of {total}", end="\r", file=sys.stderr)

    return tell


if __name__ == "__main__":
    main()
