"""The Add data page: one memory, a conversation, or a file; and the way of a file from upload to import."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from rest_framework.exceptions import ValidationError

from memories.contracts.json_lines import MEDIA_TYPE
from memories.jobs.registry import job_completion
from memories.models import Namespace, Upload
from memories.models.choices import MemoryType, Role
from memories.models.job import UNFINISHED
from memories.pages.access import access_of, members_only, require_role
from memories.pages.add_data.forms import (
    conversation_body,
    memory_body,
    remember_one,
    selected_columns,
    valid_conversation,
)
from memories.text.provider_error import ProviderError
from memories.transfer.columns import COLUMN_NAMES
from memories.transfer.export import export_namespace
from memories.transfer.formats import FORMATS, TABLE, UnreadableFileError, format_title
from memories.web.layout import render_page
from memories.web.line_stream import join_lines
from memories.web.roles import Access
from memories.web.uploads import MAX_BYTES, check_rows, dry_run, row_bodies, store_upload, submit_import
from memories.web.validation_errors import flatten_errors
from memories.writing.turns.ingest import draft_conversation, ingest

TEMPLATE, FILE_TEMPLATE = "memories/add_data.html", "memories/upload.html"
CHECKED_ROWS = 2_000  # validated while a page is rendered; the import validates all
PREVIEWED_ROWS = 5
LISTED_PROBLEMS, LISTED_UPLOADS = 20, 8


@require_GET
@members_only
def add_data_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The three ways in."""
    return render_add_data(request, namespace, access_of(request, namespace))


def render_add_data(
    request: HttpRequest, namespace: Namespace, access: Access, *, status: int = 200, **more: Any
) -> HttpResponse:
    """The page, with what was typed and what is wrong with it."""
    uploads = Upload.objects.within(namespace).order_by("-id").values("id", "name", "count", "job__state")
    context = {
        "may_write": access.allows(Role.WRITE),
        "may_export": access.allows(Role.ADMIN),
        "types": [("", "let Recall decide"), *((type, type) for type in MemoryType.values)],
        "formats": [format.title for format in FORMATS.values()],
        "max_megabytes": MAX_BYTES // 1_000_000,
        "uploads": uploads[:LISTED_UPLOADS],
        **more,
    }
    return render_page(request, TEMPLATE, context, status=status)


@require_POST
@members_only
def add_memory(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Store one memory and show it."""
    access = require_role(request, namespace, Role.WRITE)
    try:
        outcome = remember_one(namespace, memory_body(request.POST), by=access.caller)
    except (ValidationError, ProviderError) as error:
        status, wrong = status_and_problems(error)
        return render_add_data(request, namespace, access, status=status, memory=request.POST, wrong_memory=wrong)
    reason = f": {outcome.reason}" if outcome.reason else ""
    messages.success(request, f"{outcome.outcome.capitalize()}{reason}.")
    return redirect("memories-memory", namespace.slug, outcome.memory.id)


@require_POST
@members_only
def add_conversation(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Preview the turns of a pasted conversation and the memories found in them, or store both."""
    access = require_role(request, namespace, Role.WRITE)
    typed: dict[str, Any] = {"typed": request.POST}
    try:
        conversation = valid_conversation(namespace, conversation_body(request.POST))
        if request.POST.get("act") != "store":
            draft = draft_conversation(namespace, conversation, extract=True)
            facts = draft.facts.new_memories if draft.facts else ()
            preview = {"turns": conversation.turns, "facts": facts, "known": len(draft.placed.stored)}
            return render_add_data(request, namespace, access, **typed, preview=preview)
        ingested = ingest(namespace, conversation, by=access.caller)
    except (ValidationError, ProviderError) as error:
        status, wrong = status_and_problems(error)
        return render_add_data(request, namespace, access, status=status, **typed, wrong_conversation=wrong)
    turns, found = len(ingested.fresh), len(ingested.outcomes)
    stored = f"Stored {turns} turn{pluralize(turns)} of {conversation.session}"
    messages.success(request, f"{stored}; {found} memor{pluralize(found, 'y,ies')} found.")
    return redirect("memories", namespace.slug)


def status_and_problems(error: ValidationError | ProviderError) -> tuple[int, list[dict[str, str]]]:
    """The status of a response to an error, and what it says of the form's fields."""
    if isinstance(error, ValidationError):
        return 400, list(flatten_errors(error.detail))
    return 503, [{"at": "", "message": str(error)}]


@require_POST
@members_only
def upload_file(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Keep a file and show what is in it."""
    access = require_role(request, namespace, Role.WRITE)
    file = request.FILES.get("file")
    try:
        if file is None:
            raise UnreadableFileError("Choose a file first.")
        if (file.size or 0) > MAX_BYTES:
            megabytes = (file.size or 0) / 1_000_000
            raise UnreadableFileError(f"The file must have at most {MAX_BYTES // 1_000_000} MB; got {megabytes:.0f}.")
        upload = store_upload(namespace, file.name or "file", file.read(), by=access.caller)
    except UnreadableFileError as error:
        wrong = [{"at": "", "message": str(error)}]
        return render_add_data(request, namespace, access, status=400, wrong_file=wrong)
    return redirect("add-data-file", namespace.slug, upload.id)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def uploaded_file(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """What is in a file, what would become of it, its import; POST maps columns, tries the first rows or imports."""
    access = access_of(request, namespace)
    upload = Upload.objects.within(namespace).defer("rows").filter(id=id).first()  # polled; rows may be megabytes
    if upload is None:
        raise Http404("There is no such file: uploads are deleted after a day.")
    tried: dict[str, Any] = {}
    if request.method == "POST":
        access = require_role(request, namespace, Role.WRITE)
        if upload.format == TABLE and not upload.job_id and "columns" in request.POST:
            upload.columns = selected_columns(request.POST)
            upload.save(update_fields=["columns"])
        if request.POST.get("act") == "import":
            submit_import(upload, by=access.caller)
            return redirect("add-data-file", namespace.slug, upload.id)
        if request.POST.get("act") == "try":
            try:
                tried = {"tried": dry_run(upload)}
            except ProviderError as error:
                tried = {"wrong": status_and_problems(error)[1]}
    return render_page(request, FILE_TEMPLATE, upload_context(upload, access) | tried, partial="progress")


def upload_context(upload: Upload, access: Access) -> dict[str, Any]:
    """The file, its check, and the progress of its import."""
    context: dict[str, Any] = {
        "upload": upload,
        "title": format_title(upload.format),
        "may_write": access.allows(Role.WRITE),
        "tried": None,
        "job": upload.job,
    }
    if upload.job:
        result = upload.job.result.get("import", {})
        return context | {
            "percent": 100 * job_completion(upload.job),
            "open": upload.job.state in UNFINISHED,
            "counts": {name: count for name, count in result.items() if name != "problems" and count},
            "problems": result.get("problems", ()),
        }
    checked = check_rows(upload.namespace, row_bodies(upload, 0, CHECKED_ROWS))
    columns = list(dict.fromkeys(name for row in upload.rows[:CHECKED_ROWS] for name in row))
    return context | {
        "checked": min(upload.count, CHECKED_ROWS),
        "valid": len(checked.items) - checked.refused,
        "refused": checked.refused,
        "problems": checked.problems[:LISTED_PROBLEMS],
        "memories": checked.memories[:PREVIEWED_ROWS],
        "conversations": checked.conversations[:PREVIEWED_ROWS],
        "mapping": [(field, upload.columns.get(field, "")) for field in COLUMN_NAMES] if upload.format == TABLE else (),
        "columns": [("", "no column"), *((column, column) for column in columns)],
        "sample": [[row.get(column, "") for column in columns] for row in upload.rows[:PREVIEWED_ROWS]],
    }


@require_GET
@members_only
def export_data(request: HttpRequest, namespace: Namespace) -> HttpResponseBase:
    """Download the whole namespace."""
    require_role(request, namespace, Role.ADMIN)
    response = StreamingHttpResponse(join_lines(export_namespace(namespace)), content_type=MEDIA_TYPE)
    response["Content-Disposition"] = f'attachment; filename="{namespace.slug}.ndjson"'
    return response
