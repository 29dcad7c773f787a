"""Queries as request bodies, and the ranking configuration they name."""

from typing import Any, get_args

from rest_framework.exceptions import ValidationError

from memories.contracts.answer import OnLowConfidence
from memories.contracts.text_limits import MAX_QUERY_CHARS
from memories.models import Namespace
from memories.models.choices import ChunkLevel, MemoryType
from memories.retrieval.config import UnknownProfileError, resolve_config
from memories.retrieval.query import Config, Filters, Query
from memories.web.fields import DateTime, Integer, JsonObject, ListOf, OneOf, Text
from memories.web.http_errors import params_validation_error
from memories.web.ranking_choice import PRESET_HELP, check_ranking_choice
from memories.web.serializers import StrictObject
from memories.web.timestamp_checks import check_not_future
from scoring.params import ParamsError
from scoring.systems import SYSTEMS

FILTER_FIELDS = ("types", "tags", "users", "levels")


class QuerySerializer(StrictObject):
    """A query to a namespace."""

    query = Text(max_length=MAX_QUERY_CHARS)
    top_k = Integer(
        min_value=1,
        max_value=100,
        default=10,
        help_text="maximum number of results; memsense adds their session neighbours",
    )
    types = ListOf(
        child=OneOf(choices=MemoryType.values), max_length=5, default=list, help_text="filter: any of these types"
    )
    tags = ListOf(child=Text(max_length=100), max_length=50, default=list, help_text="filter: any of these tags")
    users = ListOf(
        child=Text(max_length=200, allow_blank=True),
        max_length=50,
        default=list,
        help_text="filter: any of these users",
    )
    levels = ListOf(
        child=OneOf(choices=ChunkLevel.values),
        max_length=4,
        default=list,
        help_text="filter: default statements, for memsense also conversations",
    )
    user = Text(max_length=200, allow_blank=True, default="", help_text="who asks: memories they use often rank higher")
    session = Text(
        max_length=200, allow_blank=True, default="", help_text="conversation: an access counts once per session"
    )
    as_of = DateTime(required=False, help_text="answer as of this past time")
    on_low_confidence = OneOf(
        choices=get_args(OnLowConfidence),
        default=Query.on_low_confidence,
        help_text="without a likely answer: abstain, or return the results flagged with low_confidence",
    )


class ConfiguredQuerySerializer(QuerySerializer):
    """A query and its ranking configuration: a system or a profile; default: the published profile."""

    system = OneOf(choices=list(SYSTEMS), required=False, help_text="a system with its defaults")
    preset = Text(max_length=100, required=False, help_text=PRESET_HELP)
    profile = Text(max_length=120, required=False, help_text="a profile's name, or name@version")
    params = JsonObject(default=dict, help_text="parameter overrides; GET systems/ lists them")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject system and profile together, and an unknown preset."""
        check_ranking_choice(attrs)
        return attrs


def query_from_body(namespace: Namespace, body: dict[str, Any], config: Config | None = None) -> Query:
    """A Query from a validated body; a future `as_of`, an unknown profile and invalid parameters are rejected."""
    check_not_future(namespace, body, "as_of")
    return Query(
        namespace=namespace,
        text=body["query"],
        config=config or retrieval_config_from_body(namespace, body),
        top_k=body["top_k"],
        filters=Filters(*(tuple(body[name]) for name in FILTER_FIELDS)),
        user=body["user"],
        session=body["session"],
        as_of=body.get("as_of"),
        on_low_confidence=body["on_low_confidence"],
    )


def retrieval_config_from_body(namespace: Namespace, body: dict[str, Any]) -> Config:
    """The configuration of a validated body."""
    choice = {name: body[name] for name in ("system", "preset", "profile") if name in body}
    try:
        return resolve_config(namespace, **choice, params=body["params"])
    except UnknownProfileError as error:
        message = f"must be a profile of this namespace, or name@version; got {body['profile']}"
        raise ValidationError({"profile": [message]}) from error
    except ParamsError as error:
        raise params_validation_error(error) from error
