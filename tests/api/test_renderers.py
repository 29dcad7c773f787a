"""The orjson renderer writes what REST framework's own renderer writes."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
from rest_framework.renderers import JSONRenderer

from memories.api.renderers import OrjsonRenderer
from memories.models.choices import Status

ANSWER: dict[str, Any] = {
    "id": UUID(int=7),
    "as_of": datetime(2026, 11, 17, 12, 30, 0, 250, UTC),
    "status": Status.ACTIVE,
    "score": np.float64(0.1),
    "tiny": 1e-7,
    "text": "Zoë – “quoted”\u2028",
    "nothing": None,
    "parts": [{"value": -0.0}, (1, 2)],
}


def test_it_renders_the_same() -> None:
    assert json.loads(OrjsonRenderer().render(ANSWER)) == json.loads(JSONRenderer().render(ANSWER))


def test_indentation_is_respected() -> None:
    wanted = "application/json; indent=4"
    assert OrjsonRenderer().render(ANSWER, wanted) == JSONRenderer().render(ANSWER, wanted)


def test_none_is_rendered_as_an_empty_body() -> None:
    assert OrjsonRenderer().render(None) == b""
