"""Write docs/parameters.md from the declarations, or check that it is current."""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from scoring.pages import groups
from scoring.params import SCOPES, Choice, Declaration, Number, Params
from scoring.policy import WritePolicy
from scoring.systems import SYSTEMS

PAGE = Path(settings.ROOT) / "docs" / "parameters.md"


class Command(BaseCommand):
    """Every parameter as a page of the documentation."""

    help = "Write docs/parameters.md from the declared parameters."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="only fail if the page is not current")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        """Write the page, or say that it has to be written."""
        text = "\n".join(page()) + "\n"
        if not check:
            PAGE.write_text(text)
        elif not PAGE.exists() or PAGE.read_text() != text:
            raise CommandError(f"{PAGE.name} is not current: run manage.py document_parameters")


def page() -> Iterator[str]:
    """The lines of the page."""
    yield "# Parameters"
    yield ""
    yield "Made from the declarations by `manage.py document_parameters`; do not edit."
    yield ""
    yield from (f"- **{scope}** {meaning}." for scope, meaning in SCOPES.items())
    for name, system in SYSTEMS.items():
        yield from chapter(name, system.summary, system.params)
    yield from chapter("write policy", "What a namespace decides when a memory is written.", WritePolicy)


def chapter(title: str, summary: str, params: type[Params]) -> Iterator[str]:
    """One set of parameters, group by group."""
    yield from ("", f"## {title}", "", summary)
    for group, items in groups(params).items():
        yield from ("", f"### {group}", "", "| parameter | affects | default | allowed | scope | origin |")
        yield "|---|---|---|---|---|---|"
        for name, one in items:
            default = f"{one.default:g}" if isinstance(one, Number) else str(one.default).lower()
            yield f"| `{name}` | {one.affects} | {default} | {allowed(one)} | {one.scope} | {one.seed} |"


def allowed(declaration: Declaration) -> str:
    """The allowed values, short."""
    match declaration:
        case Number():
            return f"{declaration.low:g}–{declaration.high:g} {declaration.unit}".strip()
        case Choice():
            return ", ".join(declaration.options)
        case _:
            return declaration.allowed()
