"""Evaluate a profile on a test collection."""

import json
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.management.arguments import existing_namespace, slug_argument
from memories.management.job_command import CALLER
from memories.models import Evaluation
from memories.models.choices import Split
from memories.retrieval.config import UnknownProfileError, find_profile_version
from memories.tuning.evaluation_records import evaluate_version
from memories.tuning.judgement_sets import UnknownJudgementSetError, choose_judgement_set
from memories.tuning.measurement import FALSE_ABSTENTION, FALSE_ANSWER, METRICS
from memories.tuning.profile_versions import version_label
from scoring.params import ParamsError

KNOWN_METRICS = (*METRICS, FALSE_ABSTENTION, FALSE_ANSWER)
ERROR_METRICS = (FALSE_ABSTENTION, FALSE_ANSWER)  # lower is better


def metric_bound(text: str) -> tuple[str, float]:
    """A metric and its bound, such as ndcg@10=.8."""
    metric, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if metric not in KNOWN_METRICS or not 0 <= number <= 1:
        raise ArgumentTypeError(f"must be METRIC=VALUE, of {', '.join(KNOWN_METRICS)} and from 0 to 1; got {text!r}")
    return metric, number


class Command(BaseCommand):
    """Evaluate a version of a profile; fail if a metric misses its bound."""

    help = (
        "Evaluate a version of a profile on judged queries, tracing them first if anything was written since the last "
        "trace, and store the evaluation. Exits with 1 if a metric is below its bound, or an error rate above it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=slug_argument, help="the namespace")
        parser.add_argument("--profile", required=True, metavar="NAME[@N]", help="the latest version, or version N")
        parser.add_argument("--set", default="", help="a judgement set; default: the one with most queries")
        parser.add_argument("--split", choices=Split.values, default="", help="default: all queries")
        parser.add_argument("--fail-under", type=metric_bound, action="append", default=[], metavar="METRIC=VALUE")
        parser.add_argument("--json", action="store_true", help="the evaluation as JSON on standard output")

    def handle(self, *args: Any, slug: str, profile: str, split: str, **options: Any) -> None:
        namespace = existing_namespace(slug, returncode=2)
        try:
            version = find_profile_version(namespace, profile)
            judgement_set = choose_judgement_set(namespace, options["set"])
            evaluation = evaluate_version(
                namespace, version, judgement_set, split, by=CALLER, progress=self.print_progress
            )
        except UnknownProfileError as error:
            message = f"--profile must be a profile of {slug}, or name@version; got {profile!r}"
            raise CommandError(message, returncode=2) from error
        except UnknownJudgementSetError as error:
            raise CommandError(f"--set {error}", returncode=2) from error
        except ParamsError as error:
            raise CommandError(str(error), returncode=2) from error
        where = f"{judgement_set.name}{f', {split}' if split else ''}"
        self.stdout.write(
            evaluation_to_json(evaluation, version_label(version), where)
            if options["json"]
            else evaluation_to_text(evaluation, version, where)
        )
        shortfalls = [shortfall(evaluation, metric, bound) for metric, bound in options["fail_under"]]
        if any(shortfalls):
            raise CommandError("; ".join(filter(None, shortfalls)))

    def print_progress(self, done: int, total: int | None = None, **counts: int) -> None:
        """Print to standard error how many queries are traced."""
        self.stderr.write(f"traced {done} of {total}")


def shortfall(evaluation: Evaluation, metric: str, bound: float) -> str:
    """Why a metric misses its bound; empty if it does not."""
    measured = evaluation.metrics.get(metric)
    if measured is None or not measured["queries"]:
        return f"{metric} was not measured: it applies to no query"
    is_error = metric in ERROR_METRICS
    if measured["mean"] <= bound if is_error else measured["mean"] >= bound:
        return ""
    return f"{metric} is {measured['mean']:.3f}, {'over' if is_error else 'under'} {bound:g}"


def evaluation_to_json(evaluation: Evaluation, name: str, where: str) -> str:
    """An evaluation as JSON."""
    values = {"evaluation": str(evaluation.id), "profile": name, "on": where, "metrics": evaluation.metrics}
    return json.dumps(values, indent=2)


def evaluation_to_text(evaluation: Evaluation, version: Any, where: str) -> str:
    """An evaluation as a table."""
    lines = [f"{version_label(version)} on {where}, {len(evaluation.per_query)} queries:"]
    for name, metric in evaluation.metrics.items():
        lines.append(f"  {name:<10} {metric['mean']:.3f}  ({metric['low']:.3f} to {metric['high']:.3f})")
    return "\n".join(lines)
