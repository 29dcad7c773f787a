"""The Lab's query string: the query, the configuration that ranks it, and the changed parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.utils.dateparse import parse_date
from rest_framework.exceptions import ValidationError

from memories.models import Namespace, ProfileVersion, Trace
from memories.pages import sliders
from memories.retrieval.config import parse_config_label, system_label
from memories.retrieval.query import Query, profile_version_name
from memories.retrieval.trace import query_from_trace
from memories.tuning.judgement_pooling import serving_config_name
from memories.tuning.profile_versions import version_label
from memories.web.retrieval_body import ConfiguredQuerySerializer, query_from_body
from scoring.systems import SYSTEMS

FIELDS = ("query", "by", "top_k", "as_of", "types", "tags", "user", "on_low_confidence")
MULTI_VALUED = ("types",)
MAX_QUERY_IN_URL = 300  # characters; of a longer query a URL names a trace
DEFAULT_TOP_K = ConfiguredQuerySerializer().fields["top_k"].default


@dataclass(frozen=True)
class LabQuery:
    """Form values as typed, the query they make, and the errors by field."""

    raw: Mapping[str, Any]
    query: Query | None = None
    problems: Mapping[str, str] = field(default_factory=dict)


def parse_lab_query(namespace: Namespace, data: QueryDict) -> LabQuery:
    """Validate the form with the API's serializer; on error keep what was typed."""
    raw = {name: data.getlist(name) if name in MULTI_VALUED else data.get(name, "").strip() for name in FIELDS}
    raw["top_k"] = raw["top_k"] or str(DEFAULT_TOP_K)
    serializer = ConfiguredQuerySerializer(data=lab_request_body(namespace, raw))
    try:
        serializer.is_valid(raise_exception=True)
        return LabQuery(raw, query_from_body(namespace, dict(serializer.validated_data)))
    except ValidationError as error:
        return LabQuery(raw, problems=lab_form_errors(error.detail))


def lab_request_body(namespace: Namespace, raw: Mapping[str, Any]) -> dict[str, Any]:
    """The form as an API request body, without its empty fields."""
    body: dict[str, Any] = {"query": raw["query"], "types": raw["types"], "user": raw["user"]}
    body["top_k"] = int(raw["top_k"]) if raw["top_k"].isdecimal() else raw["top_k"]
    if raw["tags"]:
        body["tags"] = [tag.strip() for tag in raw["tags"].split(",") if tag.strip()]
    if raw["as_of"]:
        body["as_of"] = as_of_timestamp(namespace, raw["as_of"])
    if raw["on_low_confidence"]:
        body["on_low_confidence"] = raw["on_low_confidence"]
    return {**body, **parse_config_label(raw["by"])}


def as_of_timestamp(namespace: Namespace, text: str) -> str:
    """A date means the end of that day, today means now; a timestamp is passed on as it is."""
    try:
        day = parse_date(text)
    except ValueError:
        return text
    if day is None:
        return text
    now = namespace.now
    return (now if day == now.date() else datetime.combine(day, time.max, UTC)).isoformat()


def lab_form_errors(detail: Any) -> dict[str, str]:
    """The first error of each field, by the form's field names."""
    names = {"system": "by", "preset": "by", "profile": "by"}
    return {names.get(str(name), str(name)): first_error_message(errors) for name, errors in dict(detail).items()}


def first_error_message(errors: Any) -> str:
    """The first message of a nested error detail."""
    while isinstance(errors, dict | list):
        errors = next(iter(errors.values() if isinstance(errors, dict) else errors))
    return str(errors)


def form_values_from_trace(trace: Trace) -> dict[str, Any]:
    """The form values that would run a trace's query again."""
    request, query = trace.request, query_from_trace(trace)
    return {
        "query": trace.query,
        "of": str(trace.id),
        "by": profile_version_name(request["profile"], request["version"])
        if request["profile"]
        else chosen_system_label(trace),
        "top_k": str(request["top_k"]),
        "as_of": (request["as_of"] or "")[:10],
        "types": request["types"],
        "tags": ", ".join(request["tags"]),
        "user": request["user"],
        "on_low_confidence": "" if query.on_low_confidence == Query.on_low_confidence else query.on_low_confidence,
    }


def chosen_system_label(trace: Trace) -> str:
    """The system of a trace, and its preset unless the namespace's mode chooses it anyway."""
    preset = trace.request.get("preset", "")
    return system_label(trace.system, "" if preset == trace.namespace.mode else preset)


def find_trace(namespace: Namespace, data: QueryDict) -> Trace | None:
    """The trace named in the query string, if it exists."""
    try:
        id = UUID(data.get("trace", ""))
    except ValueError:
        return None
    return Trace.objects.within(namespace).filter(id=id).select_related("namespace").first()


def with_query_of(namespace: Namespace, data: QueryDict) -> QueryDict:
    """The query string with the text of the query, where it names a trace `of` it."""
    if "query" in data or "of" not in data:
        return data
    trace = find_trace(namespace, QueryDict(f"trace={data['of']}"))
    if trace is None:
        return data
    complete = data.copy()
    complete["query"] = trace.query
    return complete


def lab_query_string(raw: Mapping[str, Any], extra: Mapping[str, Any], changed: Mapping[str, Any]) -> str:
    """The query string of a page state: form values, open panels and changed parameters.

    A long query is left out: the trace has it, or another one `of` the same query.
    """
    query = QueryDict(mutable=True)
    for name in FIELDS:
        value = raw[name]
        if name == "query" and len(value) > MAX_QUERY_IN_URL and (extra.get("trace") or "of" in raw):
            if not extra.get("trace"):
                query["of"] = raw["of"]
        elif value and not (name == "top_k" and value == str(DEFAULT_TOP_K)):
            query.setlist(name, value if name in MULTI_VALUED else [value])
    for name, value in extra.items():
        if value:
            query[name] = str(value)
    for name, value in changed.items():
        query[f"{sliders.PREFIX}{name}"] = format_lab_param(value)
    return query.urlencode()


def format_lab_param(value: Any) -> str:
    """A parameter value in a query string; floats round-trip."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def preset_options() -> list[tuple[str, str]]:
    """Every preset of every system."""
    return [
        (system_label(name, preset), f"{name}, {preset.replace('_', ' ')}")
        for name, system in SYSTEMS.items()
        for preset in system.presets
    ]


def ranking_options(namespace: Namespace) -> dict[str, list[tuple[str, str]]]:
    """Options of a "ranked by" select: what is served, every system and preset, the latest profile versions."""
    latest = ProfileVersion.objects.within(namespace).select_related("profile")
    profiles = [version_label(version) for version in latest.order_by("profile__name", "-number")[:50]]
    return {
        "": [("", f"as served ({serving_config_name(namespace)})")],
        "Systems": [(name, name) for name in SYSTEMS],
        "Presets": preset_options(),
        "Profiles": [(name, name) for name in profiles],
    }
