"""JSON bodies: bounded in size and depth, in UTF-8, with finite numbers and storable text."""

import json
from collections.abc import Mapping
from itertools import islice
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser

from memories.web.http_errors import BodyTooLarge, MalformedBody
from memories.web.storable import MAX_DEPTH, is_storable, storage_errors
from memories.web.validation_errors import MAX_ERRORS, WHOLE_BODY


class StrictJSONParser(BaseParser):
    """Parse a JSON body; a view's `body_limit` in bytes overrides API_BODY_LIMIT."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        context = parser_context or {}
        limit: int = getattr(context.get("view"), "body_limit", settings.API_BODY_LIMIT)
        raw: bytes = stream.read(limit + 1)
        if len(raw) > limit:
            length = context["request"].META["CONTENT_LENGTH"]
            message = f"must have at most {limit} bytes; got {length}"
            raise BodyTooLarge(f"The body {message}.", errors=[{"at": WHOLE_BODY, "message": message}])
        body = parse_json(raw)
        if not is_storable(body):
            raise ValidationError(
                {at or WHOLE_BODY: [message] for at, message in islice(storage_errors(body), MAX_ERRORS)}
            )
        return body


def parse_json(raw: bytes) -> Any:
    """Parse JSON; the error names the line and column where parsing stopped."""
    try:
        return json.loads(raw.decode())
    except UnicodeDecodeError as error:
        raise malformed_body(f"must be UTF-8; got 0x{raw[error.start]:02x} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise malformed_body(f"must be JSON; at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise malformed_body(f"must not be nested deeper than {MAX_DEPTH} levels") from error
    except ValueError as error:  # Python's limit for int() is 4,300 digits
        raise malformed_body("must hold no integer of more than 4300 digits") from error


def malformed_body(message: str) -> MalformedBody:
    """An error about the body as a whole."""
    return MalformedBody(f"The body {message}.", errors=[{"at": WHOLE_BODY, "message": message}])
