"""Generate the client's response types from the contracts, or check that they are current."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING
from datetime import datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, is_typeddict
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memories.contracts.answer import Answer, Comparison, ReplayAnswer, TracedAnswer
from memories.contracts.json_contract import ContractField, JsonContract, contract_fields, is_contract
from memories.contracts.why_not import WhyNot

MODULE = Path(settings.ROOT) / "memories" / "client" / "answer_types.py"
ROOTS = (Answer, TracedAnswer, ReplayAnswer, Comparison, WhyNot)
SCALAR_NAMES = {bool: "bool", int: "int", float: "float", str: "str", UUID: "str", datetime: "str"}
HEADER = '''"""Answers as JSON, generated from the contracts by `manage.py generate_client_types`; do not edit."""

from typing import NotRequired, TypedDict
'''


class Command(BaseCommand):
    """Generate the client's response types."""

    help = "Write memories/client/answer_types.py from the contracts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="only fail if the module is not current")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        """Write the module, or fail if it is out of date."""
        text = client_types_source()
        if not check:
            MODULE.write_text(text)
        elif not MODULE.exists() or MODULE.read_text() != text:
            raise CommandError(f"{MODULE.name} is not current: run manage.py generate_client_types")


def client_types_source() -> str:
    """The module: one TypedDict per contract, each after those it refers to."""
    classes: dict[str, str] = {}
    for root in ROOTS:
        add_typed_dict(root, classes)
    return "\n\n".join([HEADER, *classes.values()])


def add_typed_dict(contract: type, classes: dict[str, str]) -> None:
    """Add the TypedDict of a contract, preceded by those it refers to."""
    name, base = f"{contract.__name__}Json", contract.__bases__[0]
    if name in classes:
        return
    inherits = is_contract(base) and base is not JsonContract
    if inherits:
        add_typed_dict(base, classes)
    own = contract.__annotations__
    keys = [key for field in contract_fields(contract) if field.name in own for key in typed_keys(field)]
    for _, hint, _ in keys:
        for nested in nested_contracts(hint):
            if nested is not contract:
                add_typed_dict(nested, classes)
    lines = [f"    {key}: {key_type(hint, required)}\n" for key, hint, required in keys]
    body = "".join(lines).replace(name, f'"{name}"')  # a contract may contain itself
    heading = f"class {name}({base.__name__ + 'Json' if inherits else 'TypedDict'}):"
    classes[name] = f'{heading}\n    """{contract.__doc__}"""\n\n{body}'


def typed_keys(field: ContractField) -> Iterator[tuple[str, Any, bool]]:
    """The keys that a field becomes, each with its type and whether it is required."""
    if field.flat and is_typeddict(field.hint):
        for nested in contract_fields(field.hint):
            yield from typed_keys(nested)
    elif field.flat:
        yield from ((key, get_args(field.hint)[1], False) for key in field.flat.keys)
    else:
        yield field.name, field.json_hint, field.default is MISSING


def key_type(hint: Any, required: bool) -> str:
    """The annotation of a key."""
    return type_name(hint) if required else f"NotRequired[{type_name(hint)}]"


def type_name(hint: Any) -> str:
    """A type as JSON has it."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in SCALAR_NAMES:
        return SCALAR_NAMES[hint]
    if origin in (Union, UnionType):
        return " | ".join("None" if arg is NoneType else type_name(arg) for arg in args)
    if origin is not None and issubclass(origin, Mapping):
        return f"dict[str, {type_name(args[1])}]"
    if origin is not None and issubclass(origin, Sequence):
        return f"list[{type_name(args[0])}]"
    return f"{hint.__name__}Json"


def nested_contracts(hint: Any) -> Iterator[type]:
    """The contracts within a type."""
    if is_contract(hint) or is_typeddict(hint):
        yield hint
    for arg in get_args(hint):
        yield from nested_contracts(arg)
