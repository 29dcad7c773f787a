"""JSON bodies: of bounded size and depth, in UTF-8, with finite numbers and text that can be stored."""

import json
from collections.abc import Mapping
from itertools import islice
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser

from memories.api.refusals import Malformed, TooLarge
from memories.api.storable import DEEPEST, flaws, sound
from recall_site.limits import MOST_ERRORS, WHOLE_BODY


class StrictJSONParser(BaseParser):
    """Reads a JSON body; a view with a `body_limit` in bytes goes by that in place of the setting."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        context = parser_context or {}
        limit: int = getattr(context.get("view"), "body_limit", settings.API_BODY_LIMIT)
        raw: bytes = stream.read(limit + 1)
        if len(raw) > limit:
            came = context["request"].META["CONTENT_LENGTH"]
            message = f"must have at most {limit} bytes; got {came}"
            raise TooLarge(f"The body {message}.", errors=[{"at": WHOLE_BODY, "message": message}])
        body = parsed(raw)
        if not sound(body):
            raise ValidationError({place or WHOLE_BODY: [wrong] for place, wrong in islice(flaws(body), MOST_ERRORS)})
        return body


def parsed(raw: bytes) -> Any:
    """Read JSON; what cannot be read is refused with the line and column where it stopped."""
    try:
        return json.loads(raw.decode())
    except UnicodeDecodeError as error:
        raise malformed(f"must be UTF-8; got 0x{raw[error.start]:02x} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise malformed(f"must be JSON; at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise malformed(f"must not be nested deeper than {DEEPEST} levels") from error
    except ValueError as error:  # Python reads no integer of more than 4,300 digits
        raise malformed("must hold no integer of more than 4300 digits") from error


def malformed(message: str) -> Malformed:
    """Say of the whole body what is wrong with it."""
    return Malformed(f"The body {message}.", errors=[{"at": WHOLE_BODY, "message": message}])
