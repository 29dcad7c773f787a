"""A language model behind an OpenAI-compatible address (`POST /chat/completions`), asked for answers of a schema."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings

from memories.providers.endpoint import Endpoint, NoAnswerError
from memories.providers.prompts import first_object, messages

FAMILY = "openai/"
ALLOWED = "rules or openai/MODEL"
# From all that is wanted to what every server takes.
WAYS = (("temperature", "response_format", "logprobs"), ("temperature", "response_format"), ("temperature",), ())


@dataclass(frozen=True)
class Token:
    """One token of an answer, and its log-probability."""

    text: str
    logprob: float


@dataclass(frozen=True)
class Completion:
    """The first JSON object of an answer, None where there is none; and its tokens, where the server tells them."""

    value: Any
    tokens: tuple[Token, ...] = ()


class LanguageModel:
    """A model; its name is openai/MODEL."""

    def __init__(self, name: str, *, address: str, key: str, timeout: float) -> None:
        self.model = name.removeprefix(FAMILY)
        self._endpoint = Endpoint(address, key, timeout)
        self._way = 0  # of the ways to ask, the first that this server takes

    def ask(self, task: str, schema: Mapping[str, Any], material: Any, *, logprobs: bool = False) -> Completion:
        """Put a task about quoted material to the model."""
        body = {"model": self.model, "messages": messages(task, schema, material)}
        first = max(self._way, 0 if logprobs else 1)
        for way in range(first, len(WAYS)):
            try:
                told = self._endpoint.posted("chat/completions", body | parameters(WAYS[way], schema))
            except NoAnswerError as refused:
                # A server that does not know a parameter says so with one of these, and may take fewer.
                if refused.status not in (400, 422) or way == len(WAYS) - 1:
                    raise
            else:
                break
        if way > first:
            self._way = way
        return read(told)


def parameters(names: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """What is sent beside the messages."""
    format = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
    every = {"temperature": 0, "response_format": format, "logprobs": True}
    return {name: every[name] for name in names}


def read(told: bytes) -> Completion:
    """What a server told, as far as it keeps to the protocol."""
    try:
        choice = json.loads(told)["choices"][0]
        value = first_object(choice["message"]["content"])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return Completion(None)
    try:
        given = choice["logprobs"]["content"]
        return Completion(value, tuple(Token(str(one["token"]), min(0.0, float(one["logprob"]))) for one in given))
    except (ValueError, KeyError, TypeError):
        return Completion(value)


def known(name: str) -> bool:
    """Whether a name stands for the rules or for a model."""
    return name == "rules" or (name.startswith(FAMILY) and name != FAMILY)


@cache
def language_model(name: str) -> LanguageModel:
    """The model of this name, at the address of the settings."""
    return LanguageModel(
        name, address=settings.OPENAI_BASE_URL, key=settings.OPENAI_API_KEY, timeout=settings.OPENAI_TIMEOUT
    )
