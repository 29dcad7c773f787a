"""Load the demo world."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.demo.loader import USER, load_demo_world
from memories.demo.sample_traces import store_sample_traces
from memories.jobs.tuning_jobs import submit_trace_job
from memories.management.arguments import slug_argument
from memories.models import JudgementSet, Memory, Namespace
from memories.models.choices import STATEMENTS
from memories.retrieval.config import resolve_config
from memories.tuning.rrf_sweep import sweep_config


class Command(BaseCommand):
    """Fill a new namespace with the demo world."""

    help = "Fill a new namespace with the demo world: one user, her team and eighteen months of memories."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--namespace", type=slug_argument, default=USER, help="slug of the new namespace")
        parser.add_argument("--if-missing", action="store_true", help="do nothing if the namespace exists")

    def handle(self, *args: Any, namespace: str, if_missing: bool, verbosity: int, **options: Any) -> None:
        if Namespace.objects.filter(slug=namespace).exists():
            if if_missing:
                return
            raise CommandError(
                f"The namespace {namespace} exists already, and the demo world is only loaded into a new one: "
                "name another with --namespace, or pass --if-missing to leave it as it is."
            )
        loaded = load_demo_world(namespace)
        # Tune then has metrics from the start, and Calibrate a sweep of RRF k.
        for judgement_set in JudgementSet.objects.within(loaded):
            for config in (resolve_config(loaded, params={}), sweep_config(loaded)):
                submit_trace_job(loaded, judgement_set, config, by="load_demo")
        store_sample_traces(loaded)
        if verbosity:
            count = Memory.objects.within(loaded).filter(level__in=STATEMENTS).count()
            self.stdout.write(f"Loaded {count} memories into {namespace}.")
