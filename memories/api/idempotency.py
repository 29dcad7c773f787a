"""`Idempotency-Key`: a write that is asked for again is not done again; its answer is told again.

The record, the write and the answer are one transaction. Whoever comes second with a key waits at the unique index for
the first to commit, and then tells the first's answer; if the first fails or dies, nothing of it is left, and the
second does the write. No state "under way" is ever committed, so none has to be cleared away.
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

from memories.api.refusals import Conflict, Running
from memories.models import IdempotencyRecord
from recall_site.middleware import current_request_id

if TYPE_CHECKING:
    from memories.api.views import NamespacedView

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
RUNNING = f"The first request with this {HEADER} is still running: ask again."
KEPT = timedelta(hours=24)
WAIT = 10_000  # milliseconds the second waits for the first
ACCEPTABLE = re.compile(r"[\x21-\x7e]{1,200}")
# What the request alone decides; other refusals did nothing and hang on what is stored, so they are not kept.
REFUSALS_KEPT = (400, 422)

Handler = Callable[..., HttpResponse]


def idempotent(handler: Handler) -> Handler:
    """Let a method of a view be asked again under an `Idempotency-Key`."""

    @wraps(handler)
    def once(view: "NamespacedView", request: Request, **kwargs: Any) -> HttpResponse:
        key = request.headers.get(HEADER)
        if key is None:
            return handler(view, request, **kwargs)
        if not ACCEPTABLE.fullmatch(key):
            raise ValidationError({HEADER: ["must be 1 to 200 visible ASCII characters; got another"]})
        with transaction.atomic():
            record = claim(view, key, request_hash(request))
            if record.status is not None:
                return told_again(record)
            response = attempt(handler, view, request, **kwargs)
            if response.status_code < 400 or response.status_code in REFUSALS_KEPT:
                keep(record, response, view)
            else:
                record.delete()
            return response

    once.idempotent = True  # type: ignore[attr-defined]
    return once


def request_hash(request: Request) -> bytes:
    """Give what must be the same when a key comes again: method, address and body, however the body is spaced."""
    body = json.dumps(request.data, sort_keys=True)
    return hashlib.sha256(f"{request.method} {request.get_full_path()}\n{body}".encode()).digest()


def claim(view: "NamespacedView", key: str, hash: bytes) -> IdempotencyRecord:
    """Store an open record, or find the answered one that is there already."""
    now = timezone.now()
    mine = IdempotencyRecord(
        namespace=view.namespace,
        caller=view.access.caller,
        key=key,
        request_hash=hash,
        created_at=now,
        expires_at=now + KEPT,
    )
    records = IdempotencyRecord.objects.within(view.namespace).filter(caller=mine.caller, key=key)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = {WAIT}")
            records.filter(expires_at__lte=now).delete()
            IdempotencyRecord.objects.bulk_create([mine], ignore_conflicts=True)
            cursor.execute("SET LOCAL lock_timeout TO DEFAULT")
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise Running(RUNNING) from error
    found = records.first()
    if found is None:  # erased just now
        raise Running(RUNNING)
    if bytes(found.request_hash) != hash:
        wrong = "came before with another method, address or body; a new request needs a new key"
        raise Conflict(f"{HEADER} {wrong}.", errors=[{"at": HEADER, "message": wrong}], code="key_reused")
    return found


def attempt(handler: Handler, view: "NamespacedView", request: Request, **kwargs: Any) -> HttpResponse:
    """Do the write; a refusal that the request alone decides is an answer too, and undoes what was begun."""
    try:
        with transaction.atomic():
            return handler(view, request, **kwargs)
    except APIException as error:
        if error.status_code not in REFUSALS_KEPT:
            raise
        return view.handle_exception(error)


def keep(record: IdempotencyRecord, response: HttpResponse, view: "NamespacedView") -> None:
    """Store an answer as the text it is sent as, so that it is told again to the letter."""
    text = JSONRenderer().render(response.data) if isinstance(response, Response) else response.content
    record.status, record.response, record.memory_ids = response.status_code, text.decode(), view.memory_ids
    record.save(update_fields=["status", "response", "memory_ids"])


def told_again(record: IdempotencyRecord) -> HttpResponse:
    """Give a stored answer; a problem names this request, not the first."""
    assert record.status is not None
    text, type = str(record.response), "application/json"
    if record.status >= 400:
        told = json.loads(text) | {"request_id": current_request_id.get()}
        text, type = json.dumps(told), "application/problem+json"
    return HttpResponse(text, status=record.status, content_type=type, headers={REPLAYED: "true"})
