"""Files of memories as other systems export them, each turned into request bodies of POST memories/ or POST turns/."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memories.contracts.json_lines import line_message
from memories.contracts.json_values import InvalidJsonError, parse_json, quote_value, storage_errors
from memories.transfer.formats import chatgpt, graphiti, langgraph, mcp_graph, mem0, recall_lines

REST = "further values"  # column of what a row has beyond the header
BOM = "\ufeff"


class UnreadableFileError(ValueError):
    """A file that holds no rows; says what is allowed and what came."""


@dataclass(frozen=True)
class Format:
    """How one system writes its memories."""

    title: str
    # Whether rows are of this format, and the bodies that they become.
    matches: Callable[[Sequence[Mapping[str, Any]]], bool]
    bodies: Callable[[Sequence[Mapping[str, Any]]], Iterator[dict[str, Any]]]


# The first that matches counts; what none matches are rows whose columns a person maps.
FORMATS: Mapping[str, Format] = {
    module.NAME: Format(module.TITLE, module.matches, module.bodies)
    for module in (chatgpt, graphiti, mcp_graph, langgraph, mem0, recall_lines)
}
TABLE = "table"


@dataclass(frozen=True)
class ParsedFile:
    """The rows of a file: bodies in a known format, else objects whose columns must be mapped."""

    format: str
    rows: Sequence[dict[str, Any]]


def format_title(name: str) -> str:
    """What a file of this format is, in words."""
    return FORMATS[name].title if name in FORMATS else "rows with columns"


def parse_file(name: str, data: bytes) -> ParsedFile:
    """The bodies or rows of a file, by its content; a CSV file by its name."""
    rows = csv_rows(data) if name.lower().endswith((".csv", ".tsv")) else json_rows(data)
    if not rows:
        raise UnreadableFileError("The file has no rows.")
    if "recall" in rows[0] and "namespace" in rows[0]:
        raise UnreadableFileError(
            "The file is an export of a whole namespace: manage.py import_memories restores it into an empty one."
        )
    for place, message in storage_errors(rows):
        row, _, field = place.partition(".")
        raise UnreadableFileError(f"The file cannot be stored: in row {int(row) + 1}, {field} {message}.")
    for format_name, format in FORMATS.items():
        if format.matches(rows):
            try:
                return ParsedFile(format_name, list(format.bodies(rows)))
            except (AttributeError, LookupError, TypeError) as error:
                raise UnreadableFileError(
                    f"The file looks like {format.title}, but some of it has another form."
                ) from error
    return ParsedFile(TABLE, rows)


def csv_rows(data: bytes) -> list[dict[str, Any]]:
    """The rows of a CSV file with a header; commas, semicolons or tabs."""
    try:
        text = data.decode().removeprefix(BOM)
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"The file must be UTF-8; got 0x{data[error.start]:02x} at byte {error.start}."
        ) from error
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restkey=REST)
    try:
        return [{name: value for name, value in row.items() if name and value not in (None, "")} for row in reader]
    except csv.Error as error:
        raise UnreadableFileError(f"The file must be CSV; after line {reader.line_num}: {error}.") from error


def json_rows(data: bytes) -> list[dict[str, Any]]:
    """The objects of a JSON file, or of one with an object on each line."""
    text = data.removeprefix(BOM.encode()).strip()
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    try:
        values = rows_of(parse_json(text)) if lines else []
    except InvalidJsonError as error:
        if len(lines) == 1:
            raise UnreadableFileError(f"The file {error}.") from error
        values = [line_value(number, line) for number, line in lines]
    strange = [value for value in values if not isinstance(value, dict)]
    if strange:
        raise UnreadableFileError(f"The file must hold objects; got {quote_value(strange[0])}.")
    return values


def line_value(number: int, line: bytes) -> Any:
    """The value of a line."""
    try:
        return parse_json(line)
    except InvalidJsonError as error:
        raise UnreadableFileError(f"Line {number} {line_message(error)}.") from error


def rows_of(value: Any) -> list[Any]:
    """The rows of a JSON value: a list, the list in an object, or the object itself."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and not any(format.matches([value]) for format in FORMATS.values()):
        lists = [inner for inner in value.values() if isinstance(inner, list) and inner and isinstance(inner[0], dict)]
        if len(lists) == 1:
            return lists[0]
    return [value]
