"""`Idempotency-Key`: a repeated write is not executed again; its stored response is replayed.

The record, the write and the response are one transaction. A second request with the same key waits at the unique index
for the first to commit and then replays its response; if the first fails or dies, it is rolled back and the second does
the write. No "in progress" state is ever committed, so there is none to clean up.
"""

import hashlib
import json
import re
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.db import OperationalError, connection, transaction
from django.http import HttpResponse
from django.utils import timezone
from psycopg.errors import LockNotAvailable
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import IdempotencyRecord
from memories.web.http_errors import Conflict, StillRunning
from memories.web.middleware import current_request_id

if TYPE_CHECKING:
    from memories.api.base_view import NamespacedView

HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotency-Replayed"
STILL_RUNNING_DETAIL = f"The first request with this {HEADER} is still running; retry later."
RECORD_LIFETIME = timedelta(hours=24)
LOCK_TIMEOUT_MS = 10_000  # milliseconds a second request waits for the first
KEY_PATTERN = re.compile(r"[\x21-\x7e]{1,200}")
# Errors determined by the request alone. Others depend on stored data and changed nothing, so they are not stored.
STORED_ERROR_STATUSES = (400, 422)

Handler = Callable[..., HttpResponse]


def idempotent(handler: Handler) -> Handler:
    """Make a view method idempotent under an `Idempotency-Key`."""

    @wraps(handler)
    def run_once(view: "NamespacedView", request: Request, **kwargs: Any) -> HttpResponse:
        key = request.headers.get(HEADER)
        if key is None:
            return handler(view, request, **kwargs)
        if not KEY_PATTERN.fullmatch(key):
            raise ValidationError({HEADER: ["must be 1 to 200 visible ASCII characters; got something else"]})
        with transaction.atomic():
            record = claim_record(view, key, hash_request(request))
            if record.status is not None:
                return replay_response(record)
            response = run_handler(handler, view, request, **kwargs)
            if response.status_code < 400 or response.status_code in STORED_ERROR_STATUSES:
                store_response(record, response, view)
            else:
                record.delete()
            return response

    run_once.idempotent = True  # type: ignore[attr-defined]
    return run_once


def hash_request(request: Request) -> bytes:
    """Hash what must match when a key is reused: method, URL and body, regardless of whitespace and key order."""
    body = json.dumps(request.data, sort_keys=True)
    return hashlib.sha256(f"{request.method} {request.get_full_path()}\n{body}".encode()).digest()


def claim_record(view: "NamespacedView", key: str, request_hash: bytes) -> IdempotencyRecord:
    """Insert an open record, or load the completed one with this key."""
    now = timezone.now()
    new = IdempotencyRecord(
        namespace=view.namespace,
        caller=view.access.caller,
        key=key,
        request_hash=request_hash,
        created_at=now,
        expires_at=now + RECORD_LIFETIME,
    )
    records = IdempotencyRecord.objects.within(view.namespace).filter(caller=new.caller, key=key)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}")
            records.filter(expires_at__lte=now).delete()
            IdempotencyRecord.objects.bulk_create([new], ignore_conflicts=True)
            cursor.execute("SET LOCAL lock_timeout TO DEFAULT")
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise StillRunning(STILL_RUNNING_DETAIL) from error
    record = records.first()
    if record is None:  # deleted by a concurrent erasure
        raise StillRunning(STILL_RUNNING_DETAIL)
    if bytes(record.request_hash) != request_hash:
        message = "was used before with another method, URL or body; a new request needs a new key"
        raise Conflict(f"{HEADER} {message}.", errors=[{"at": HEADER, "message": message}], code="key_reused")
    return record


def run_handler(handler: Handler, view: "NamespacedView", request: Request, **kwargs: Any) -> HttpResponse:
    """Execute the write; an error determined by the request alone is a response too, after a rollback."""
    try:
        with transaction.atomic():
            return handler(view, request, **kwargs)
    except APIException as error:
        if error.status_code not in STORED_ERROR_STATUSES:
            raise
        return view.handle_exception(error)


def store_response(record: IdempotencyRecord, response: HttpResponse, view: "NamespacedView") -> None:
    """Store the rendered response, so that a replay is byte-identical."""
    text = JSONRenderer().render(response.data) if isinstance(response, Response) else response.content
    record.status, record.response, record.memory_ids = response.status_code, text.decode(), view.memory_ids
    record.save(update_fields=["status", "response", "memory_ids"])


def replay_response(record: IdempotencyRecord) -> HttpResponse:
    """Replay a stored response; a problem carries the id of the current request."""
    assert record.status is not None
    text, content_type = str(record.response), "application/json"
    if record.status >= 400:
        problem = json.loads(text) | {"request_id": current_request_id.get()}
        text, content_type = json.dumps(problem), "application/problem+json"
    return HttpResponse(text, status=record.status, content_type=content_type, headers={REPLAYED_HEADER: "true"})
