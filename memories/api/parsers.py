"""JSON bodies: bounded in size and depth, in UTF-8, with finite numbers and storable text."""

from collections.abc import Mapping
from itertools import islice
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser

from memories.contracts.json_values import InvalidJsonError, is_storable, parse_json, storage_errors
from memories.web.http_errors import BodyTooLarge, MalformedBody
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
        try:
            body = parse_json(raw)
        except InvalidJsonError as error:
            message = str(error)
            raise MalformedBody(f"The body {message}.", errors=[{"at": WHOLE_BODY, "message": message}]) from error
        if not is_storable(body):
            raise ValidationError(
                {at or WHOLE_BODY: [message] for at, message in islice(storage_errors(body), MAX_ERRORS)}
            )
        return body
