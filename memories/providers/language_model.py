"""A language model behind an OpenAI-compatible API (`POST /chat/completions`), with structured output."""

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
# Optional parameters, from all of them to those that every server accepts.
PARAMETER_SETS = (
    ("temperature", "response_format", "logprobs"),
    ("temperature", "response_format"),
    ("temperature",),
    (),
)


@dataclass(frozen=True)
class AnswerToken:
    """One token of an answer, and its log-probability."""

    text: str
    logprob: float


@dataclass(frozen=True)
class ModelAnswer:
    """The first JSON object of an answer, None if there is none, and its tokens if the server returns them."""

    value: Any
    tokens: tuple[AnswerToken, ...] = ()


class LanguageModel:
    """A model, named openai/MODEL."""

    def __init__(self, name: str, *, base_url: str, key: str, timeout: float) -> None:
        self.model = name.removeprefix(FAMILY)
        self._endpoint = Endpoint(base_url, key, timeout)
        self._parameter_set = 0  # the first that this server accepts

    def ask(self, task: str, schema: Mapping[str, Any], material: Any, *, logprobs: bool = False) -> ModelAnswer:
        """Ask the model to do a task on quoted material."""
        body = {"model": self.model, "messages": messages(task, schema, material)}
        first = max(self._parameter_set, 0 if logprobs else 1)
        for index in range(first, len(PARAMETER_SETS)):
            try:
                response = self._endpoint.post("chat/completions", body | parameters(PARAMETER_SETS[index], schema))
            except NoAnswerError as error:
                # A server that does not support a parameter answers with one of these.
                if error.status not in (400, 422) or index == len(PARAMETER_SETS) - 1:
                    raise
            else:
                break
        if index > first:
            self._parameter_set = index
        return parse_answer(response)


def parameters(names: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The request's optional parameters."""
    format = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
    options = {"temperature": 0, "response_format": format, "logprobs": True}
    return {name: options[name] for name in names}


def parse_answer(response: bytes) -> ModelAnswer:
    """A server's answer; without a value or tokens where it violates the protocol."""
    try:
        choice = json.loads(response)["choices"][0]
        value = first_object(choice["message"]["content"])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return ModelAnswer(None)
    try:
        tokens = choice["logprobs"]["content"]
        return ModelAnswer(
            value, tuple(AnswerToken(str(token["token"]), min(0.0, float(token["logprob"]))) for token in tokens)
        )
    except (ValueError, KeyError, TypeError):
        return ModelAnswer(value)


def is_known_model(name: str) -> bool:
    """Whether a name is rules or names a model."""
    return name == "rules" or (name.startswith(FAMILY) and name != FAMILY)


@cache
def language_model(name: str) -> LanguageModel:
    """The model of this name, at OPENAI_BASE_URL."""
    return LanguageModel(
        name, base_url=settings.OPENAI_BASE_URL, key=settings.OPENAI_API_KEY, timeout=settings.OPENAI_TIMEOUT
    )
