"""Forms of the Guards page: an answer with what it was made from, and a statement with its evidence."""

from typing import Any

from django.http import QueryDict

from memories.contracts.text_limits import MAX_CONTENT_CHARS
from memories.models import Memory, Namespace, Trace
from memories.models.choices import STATEMENTS, MemoryType, Role, SourceLevel, Status
from memories.pages.request_data import filled_fields, is_uuid
from memories.web.roles import Access
from memories.web.trace_filters import filter_traces

ANSWER_FIELDS = ("answer", "trace", "query", "memories")
STATEMENT_FIELDS = ("content", "evidence", "type", "source_level")
MAX_RECENT_TRACES = 20  # in the select
MAX_EXAMPLE_MEMORIES = 3
UNSUPPORTED_SENTENCE = "It cost 9,400 euros, and Ingrid Falk paid for it."  # what the example's memories do not say


def answer_form_context(namespace: Namespace, data: QueryDict) -> dict[str, Any]:
    """Values and options of the answer form: as submitted, from the query string, or an example."""
    typed = {name: data.get(name, "") for name in ANSWER_FIELDS}
    if "example" in data:
        typed |= example_answer(namespace)
    traces = list(filter_traces(namespace, {}).order_by("-id")[:MAX_RECENT_TRACES])
    if typed["trace"] and typed["trace"] not in {str(trace.id) for trace in traces}:
        traces = [*traces, *find_trace_option(namespace, typed["trace"])]
    return {
        "typed": typed,
        "traces": [(trace, str(trace.id) == typed["trace"]) for trace in traces],
        "max_chars": MAX_CONTENT_CHARS,
    }


def find_trace_option(namespace: Namespace, id: str) -> list[Trace]:
    """The trace with an id, if it exists: a selected one may not be among the newest."""
    return list(filter_traces(namespace, {}).filter(id=id)) if is_uuid(id) else []


def example_answer(namespace: Namespace) -> dict[str, str]:
    """An answer from stored memories with one unsupported sentence."""
    rows = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level__in=STATEMENTS)
    newest = list(rows.order_by("-created_at", "id")[:MAX_EXAMPLE_MEMORIES])
    if not newest:
        return {}
    sentences = [memory.content.rstrip(".") + "." for memory in newest[:2]]
    return {
        "answer": " ".join([*sentences, UNSUPPORTED_SENTENCE]),
        "memories": "\n".join(str(memory.id) for memory in newest),
    }


def faithfulness_request_body(data: QueryDict) -> dict[str, Any]:
    """The answer form as an API request body; each line of `memories` is an id or a text."""
    body: dict[str, Any] = {"answer": data.get("answer", "")}
    body |= {name: text for name in ("trace", "query") if (text := data.get(name, "").strip())}
    lines = [line.strip() for line in data.get("memories", "").splitlines() if line.strip()]
    ids = [line for line in lines if is_uuid(line)]
    texts = [line for line in lines if not is_uuid(line)]
    return body | {name: values for name, values in (("memories", ids), ("texts", texts)) if values}


def statement_form_context(data: QueryDict, access: Access) -> dict[str, Any]:
    """Values and options of the statement form."""
    return {
        "statement_typed": {name: data.get(name, "") for name in STATEMENT_FIELDS},
        "types": MemoryType.values,
        "levels": SourceLevel.values,
        "may_try": access.allows(Role.WRITE),
    }


def statement_request_body(data: QueryDict) -> dict[str, str]:
    """The statement form as an API request body."""
    return {name: text for name, text in filled_fields(data).items() if name in STATEMENT_FIELDS}
