"""Answers are written as the framework writes them, by a faster writer."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
from rest_framework.renderers import JSONRenderer

from memories.api.renderers import LargeAnswerRenderer
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


def test_it_says_the_same() -> None:
    assert json.loads(LargeAnswerRenderer().render(ANSWER)) == json.loads(JSONRenderer().render(ANSWER))


def test_whoever_wants_to_read_it_gets_lines() -> None:
    wanted = "application/json; indent=4"
    assert LargeAnswerRenderer().render(ANSWER, wanted) == JSONRenderer().render(ANSWER, wanted)


def test_nothing_is_written_as_nothing() -> None:
    assert LargeAnswerRenderer().render(None) == b""
