"""Generate docs/parameters.md from the declarations, or check that it is current."""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from scoring.params import SCOPES, Choice, Declaration, Number, Params
from scoring.policy import WritePolicyParams
from scoring.systems import SYSTEMS

PAGE = Path(settings.ROOT) / "docs" / "parameters.md"


class Command(BaseCommand):
    """Generate the parameter reference."""

    help = "Write docs/parameters.md from the declared parameters."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="only fail if the page is not current")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        """Write the page, or fail if it is out of date."""
        text = "\n".join(parameter_page_lines()) + "\n"
        if not check:
            PAGE.write_text(text)
        elif not PAGE.exists() or PAGE.read_text() != text:
            raise CommandError(f"{PAGE.name} is not current: run manage.py document_parameters")


def parameter_page_lines() -> Iterator[str]:
    """Lines of the page."""
    yield "# Parameters"
    yield ""
    yield "Generated from the declarations by `manage.py document_parameters`; do not edit."
    yield ""
    yield from (f"- **{scope}** {meaning}." for scope, meaning in SCOPES.items())
    for name, system in SYSTEMS.items():
        yield from params_section_lines(name, system.summary, system.params)
    yield from params_section_lines(
        "write policy", "Parameters of a namespace that apply when a memory is written.", WritePolicyParams
    )


def params_section_lines(title: str, summary: str, params: type[Params]) -> Iterator[str]:
    """Lines of one parameter set, by group."""
    yield from ("", f"## {title}", "", summary)
    for group, declarations in params.declarations_by_group().items():
        yield from ("", f"### {group}", "", "| parameter | affects | default | allowed | scope | source |")
        yield "|---|---|---|---|---|---|"
        for name, declaration in declarations.items():
            number = isinstance(declaration, Number)
            default = f"{declaration.default:g}" if number else str(declaration.default).lower()
            values = (declaration.affects, default, allowed_values(declaration), declaration.scope, declaration.source)
            yield f"| `{name}` | {' | '.join(values)} |"


def allowed_values(declaration: Declaration) -> str:
    """Allowed values in short form."""
    match declaration:
        case Number():
            return f"{declaration.low:g}–{declaration.high:g} {declaration.unit}".strip()
        case Choice():
            return ", ".join(declaration.options)
        case _:
            return declaration.allowed_values()
