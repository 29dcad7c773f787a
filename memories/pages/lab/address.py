"""What an address of the Lab says: a question, by what it is ranked, and which parameters were moved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.utils.dateparse import parse_date
from rest_framework.exceptions import ValidationError

from memories.api.retrieval import SettingSerializer, query_of
from memories.judging.pooling import served
from memories.models import Namespace, ProfileVersion, Trace
from memories.pages import sliders
from memories.retrieval.query import Query, versioned
from memories.retrieval.settings import said as ranked_by
from memories.tuning.profiles import called
from scoring.systems import SYSTEMS

FIELDS = ("query", "by", "top_k", "as_of", "types", "tags", "user")
MANY = ("types",)
TOP_K = SettingSerializer().fields["top_k"].default


@dataclass(frozen=True)
class Asked:
    """A question as it was typed, the query it makes, and what is wrong with it by field."""

    typed: Mapping[str, Any]
    query: Query | None = None
    problems: Mapping[str, str] = field(default_factory=dict)


def asked(namespace: Namespace, sent: QueryDict) -> Asked:
    """Read a question by the API's own rules; what is wrong is told beside what was typed."""
    typed = {name: sent.getlist(name) if name in MANY else sent.get(name, "").strip() for name in FIELDS}
    typed["top_k"] = typed["top_k"] or str(TOP_K)
    serializer = SettingSerializer(data=body(namespace, typed))
    try:
        serializer.is_valid(raise_exception=True)
        return Asked(typed, query_of(namespace, dict(serializer.validated_data)))
    except ValidationError as error:
        return Asked(typed, problems=told(error.detail))


def body(namespace: Namespace, typed: Mapping[str, Any]) -> dict[str, Any]:
    """The same question as the API would be asked it; what is left empty is not said."""
    said: dict[str, Any] = {"query": typed["query"], "types": typed["types"], "user": typed["user"]}
    said["top_k"] = int(typed["top_k"]) if typed["top_k"].isdecimal() else typed["top_k"]
    if typed["tags"]:
        said["tags"] = [tag.strip() for tag in typed["tags"].split(",") if tag.strip()]
    if typed["as_of"]:
        said["as_of"] = moment(namespace, typed["as_of"])
    return {**said, **ranked_by(typed["by"])}


def moment(namespace: Namespace, text: str) -> str:
    """A day counts to its end, and today until now; a moment is as it stands."""
    try:
        day = parse_date(text)
    except ValueError:
        return text
    if day is None:
        return text
    now = namespace.now
    return (now if day == now.date() else datetime.combine(day, time.max, UTC)).isoformat()


def told(detail: Any) -> dict[str, str]:
    """The first refusal of each field."""
    names = {"system": "by", "profile": "by"}
    return {names.get(str(name), str(name)): first(wrong) for name, wrong in dict(detail).items()}


def first(wrong: Any) -> str:
    """The first message of however many, however deep."""
    while isinstance(wrong, dict | list):
        wrong = next(iter(wrong.values() if isinstance(wrong, dict) else wrong))
    return str(wrong)


def typed_of(trace: Trace) -> dict[str, Any]:
    """What somebody would have typed to ask what a trace was asked."""
    was = trace.request
    return {
        "query": trace.query,
        "by": versioned(was["profile"], was["version"]) if was["profile"] else trace.system,
        "top_k": str(was["top_k"]),
        "as_of": (was["as_of"] or "")[:10],
        "types": was["types"],
        "tags": ", ".join(was["tags"]),
        "user": was["user"],
    }


def trace_of(namespace: Namespace, sent: QueryDict) -> Trace | None:
    """The trace an address names, if it is kept."""
    try:
        id = UUID(sent.get("trace", ""))
    except ValueError:
        return None
    return Trace.objects.within(namespace).filter(id=id).select_related("namespace").first()


def written(typed: Mapping[str, Any], more: Mapping[str, Any], changed: Mapping[str, Any]) -> str:
    """The query string of a state: what was asked, what else is shown, and the parameters that were moved."""
    sent = QueryDict(mutable=True)
    for name in FIELDS:
        value = typed[name]
        if value and not (name == "top_k" and value == str(TOP_K)):
            sent.setlist(name, value if name in MANY else [value])
    for name, value in more.items():
        if value:
            sent[name] = str(value)
    for name, value in changed.items():
        sent[f"{sliders.PREFIX}{name}"] = plain(value)
    return sent.urlencode()


def plain(value: Any) -> str:
    """A value as an address says it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def ways(namespace: Namespace) -> dict[str, list[tuple[str, str]]]:
    """By what a question can be ranked: what serves, every system, and the latest versions of the profiles."""
    latest = ProfileVersion.objects.within(namespace).select_related("profile")
    profiles = [called(one) for one in latest.order_by("profile__name", "-number")[:50]]
    return {
        "": [("", f"as served ({served(namespace)})")],
        "Systems": [(name, name) for name in SYSTEMS],
        "Profiles": [(name, name) for name in profiles],
    }
