"""Retrieval quality on public data: systems, retriever ablation, cross-validated constants, abstention."""

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

from recall_site import start

start.ensure_secret_key()
start.ensure_database()

import django

django.setup()

from django.core.management import call_command
from django.db import connection

from benchmarks.quality.evidence import report_evidence
from benchmarks.quality.measuring import (
    CaseRun,
    abstention_roc,
    answerable_runs,
    format_means,
    means_by_category,
    metric_values,
    run_cases,
)
from benchmarks.quality.worlds import DATA, SLUG, WORLDS
from memories.models import Namespace
from scoring.systems import SYSTEMS
from scoring.systems.blend import BLEND_RETRIEVERS, BlendParams

GRID = {"rerank": (0.6, 0.7, 0.75, 0.8), "weight_semantic": (0.5, 0.6, 0.7), "entity_boost": (0.5, 1.0, 1.25)}


def main() -> None:
    """Load missing data, run all queries, print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", nargs="*", default=list(WORLDS), help=f"of {', '.join(WORLDS)}")
    parser.add_argument("--systems", action="store_true", help="all systems, not only the default")
    parser.add_argument("--fresh", action="store_true", help="reload the data")
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
    """One dataset: the default by category, ablation, cross-validation, abstention, and the other systems."""
    began = time.perf_counter()
    cases = list(WORLDS[name]())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    print(f"\n{name}: {len(cases)} queries, loaded in {time.perf_counter() - began:.0f} s", flush=True)
    for system in [name for name in SYSTEMS if name != "blend"] if every else ():
        print(
            f"  {system:12} {format_means(metric_values(run_cases(cases, system, progress_printer(len(cases)))))}",
            flush=True,
        )
    began = time.perf_counter()
    runs = run_cases(cases, "blend", progress_printer(len(cases)))
    took = 1000 * (time.perf_counter() - began) / len(cases)
    print(f"  blend        {format_means(metric_values(runs))}  ({took:.0f} ms per query)")
    for category, means in means_by_category(runs).items():
        print(f"    {category:24} {means}")
    wide = run_cases(cases, "blend", progress_printer(len(cases)), all_retrievers=True)
    print(f"    asking weight 0 too      {format_means(metric_values(wide))}")
    for name, params in {"asked": None, "dropped afterwards": BlendParams()}.items():
        differing = sum(live.top() != other.top(params) for live, other in zip(runs, wide, strict=True))
        print(f"      answers that differ with the retrievers of weight 0 {name}: {differing} of {len(runs)}")
    for retriever in BLEND_RETRIEVERS:
        print(f"    without {retriever:16} {format_means(metric_values(wide, without_retriever(retriever)))}")
    for retriever in ("traversal", "context"):
        with_weight = metric_values(wide, BlendParams(**{f"weight_{retriever}": 0.1}))
        print(f"    {retriever} weight 0.1     {format_means(with_weight)}")
    print(f"    without reranking        {format_means(metric_values(runs, BlendParams(rerank=0.0)))}")
    report_evidence(runs)
    folds = sorted({run.case.fold for run in runs})
    if len(folds) > 2:
        cross_validate(runs, folds)
    area, caught = abstention_roc(runs)
    if caught:
        summary = ", ".join(f"{share:.2f} at {rate:.0%} false abstentions" for rate, share in caught.items())
        abstained = [run.retrieval.ranking.abstained for run in runs if not run.case.answerable]
        false_abstentions = [run.retrieval.ranking.abstained for run in runs if run.case.answerable]
        print(f"    abstention: AUC {area:.3f}; unanswerable caught {summary}")
        shipped = f"{np.mean(abstained):.2f} caught, {np.mean(false_abstentions):.3f} false abstentions"
        print(f"      at the shipped threshold {shipped}", flush=True)


def without_retriever(retriever: str) -> BlendParams:
    """The defaults without one retriever."""
    values = {f"weight_{retriever}": 0.0} | ({f"{retriever}_boost": 0.0} if retriever in ("entity", "temporal") else {})
    return BlendParams(**values)


def cross_validate(runs: list[CaseRun], folds: list[str]) -> None:
    """Leave-one-fold-out: choose constants on the other folds, measure on this one."""
    configs = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    table = {
        str(config): metric_values(runs, BlendParams(**config, weight_bm25=round(1 - config["weight_semantic"], 2)))
        for config in configs
    }
    fold_of = np.array([run.case.fold for run in answerable_runs(runs)])
    held_out: dict[str, list[np.ndarray]] = {}
    for fold in folds:
        rest = fold_of != fold
        best = max(configs, key=lambda config: float(table[str(config)]["nDCG@10"][rest].mean()))
        for name, values in table[str(best)].items():
            held_out.setdefault(name, []).append(values[~rest])
        print(f"    best without {fold:12} {best}")
    means = format_means({name: np.concatenate(values) for name, values in held_out.items()})
    print(f"    cross-validated          {means}")


def progress_printer(total: int) -> Callable[[int], None]:
    """Progress callback that prints to a terminal."""

    def print_progress(done: int) -> None:
        if sys.stderr.isatty():
            print(f"\r  {done} of {total}", end="\r", file=sys.stderr)

    return print_progress


if __name__ == "__main__":
    main()
