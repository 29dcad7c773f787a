"""Measure a profile on judged queries."""

import json
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.management.arguments import namespace_slug
from memories.management.job_command import BY
from memories.models import Evaluation, Namespace
from memories.models.choices import Part
from memories.retrieval.settings import UnknownProfileError, named
from memories.tuning.evaluating import INVENTED, LOST, METRICS
from memories.tuning.evaluations import evaluate
from memories.tuning.profiles import called
from memories.tuning.sets import UnknownSetError, chosen_set
from scoring.params import ParamsError

KNOWN = (*METRICS, LOST, INVENTED)
ERRORS = (LOST, INVENTED)  # of which less is better


def bound(text: str) -> tuple[str, float]:
    """A metric and the value it must reach, such as ndcg@10=.8."""
    metric, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if metric not in KNOWN or not 0 <= number <= 1:
        raise ArgumentTypeError(f"must be METRIC=VALUE, of {', '.join(KNOWN)} and from 0 to 1; got {text!r}")
    return metric, number


class Command(BaseCommand):
    """Measure a version of a profile, and fail where it is not good enough."""

    help = (
        "Measure a version of a profile on judged queries, asking them first where that was not done since the last "
        "write, and keep the evaluation. Ends with 1 where a metric is under its bound; of the errors lost and "
        "invented, where one is over it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=namespace_slug, help="the namespace")
        parser.add_argument("--profile", required=True, metavar="NAME[@N]", help="the latest version, or version N")
        parser.add_argument("--set", default="", help="a judgement set; else the one with most queries")
        parser.add_argument("--part", choices=Part.values, default="", help="else all queries")
        parser.add_argument("--fail-under", type=bound, action="append", default=[], metavar="METRIC=VALUE")
        parser.add_argument("--json", action="store_true", help="the evaluation as JSON on standard output")

    def handle(self, *args: Any, slug: str, profile: str, part: str, **options: Any) -> None:
        namespace = Namespace.objects.filter(slug=slug).first()
        if namespace is None:
            known = ", ".join(Namespace.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no namespace {slug}: choose an existing one ({known}).", returncode=2)
        try:
            version, judged = named(namespace, profile), chosen_set(namespace, options["set"])
            made = evaluate(namespace, version, judged, part, by=BY, tell=self.tell)
        except UnknownProfileError as error:
            wrong = f"--profile must be a profile of {slug}, or name@version; got {profile!r}"
            raise CommandError(wrong, returncode=2) from error
        except UnknownSetError as error:
            raise CommandError(f"--set {error}", returncode=2) from error
        except ParamsError as error:
            raise CommandError(str(error), returncode=2) from error
        where = f"{judged.name}{f', {part}' if part else ''}"
        self.stdout.write(as_json(made, called(version), where) if options["json"] else as_text(made, version, where))
        if short := [told for metric, value in options["fail_under"] if (told := shortfall(made, metric, value))]:
            raise CommandError("; ".join(short))

    def tell(self, done: int, total: int | None = None, **counted: int) -> None:
        """Say on standard error how far the asking is."""
        self.stderr.write(f"asked {done} of {total}")


def shortfall(made: Evaluation, metric: str, value: float) -> str:
    """What is not good enough, in words."""
    found = made.metrics.get(metric)
    if found is None or not found["queries"]:
        return f"{metric} was not measured: no query counts for it"
    over = metric in ERRORS
    if found["mean"] <= value if over else found["mean"] >= value:
        return ""
    return f"{metric} is {found['mean']:.3f}, {'over' if over else 'under'} {value:g}"


def as_json(made: Evaluation, name: str, where: str) -> str:
    """An evaluation for programs."""
    told = {"evaluation": str(made.id), "profile": name, "on": where, "metrics": made.metrics}
    return json.dumps(told, indent=2)


def as_text(made: Evaluation, version: Any, where: str) -> str:
    """An evaluation for people."""
    lines = [f"{called(version)} on {where}, {len(made.per_query)} queries:"]
    for name, one in made.metrics.items():
        lines.append(f"  {name:<10} {one['mean']:.3f}  ({one['low']:.3f} to {one['high']:.3f})")
    return "\n".join(lines)
