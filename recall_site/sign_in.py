"""Slows down whoever guesses passwords."""

import hashlib
import math
import time
from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache

SignIn = Callable[..., HttpResponseBase]

ATTEMPTS = 10  # per name and address, in each worker
WINDOW = 300  # seconds


def throttled(view: SignIn) -> SignIn:
    """A sign-in view that answers 429 after too many attempts in a row without success."""

    @never_cache
    @wraps(view)
    def door(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        name = User.normalize_username(request.POST.get("username", "").strip())
        visitor = hashlib.sha256(f"{name}\n{address(request)}".encode()).hexdigest()
        if wait := counted(visitor):
            return refusal(request, wait)
        response = view(request, *args, **kwargs)
        if request.user.get_username() == name:
            cache.delete(visitor)
        return response

    return door


def counted(visitor: str) -> int:
    """Count an attempt before it is made, so that many at once are no way around; the seconds to wait, or 0."""
    now = time.time()
    end = cache.get_or_set(visitor, now + WINDOW, WINDOW) or now + WINDOW  # None if another entry pushed it out
    row = f"{visitor}-{end}"
    cache.add(row, 0, WINDOW)
    return math.ceil(end - now) if cache.incr(row) > ATTEMPTS else 0


def refusal(request: HttpRequest, wait: int) -> HttpResponse:
    """The sign-in page, saying when to try again."""
    minutes = math.ceil(wait / 60)
    context = {"wait": "a minute" if minutes == 1 else f"{minutes} minutes", "next": request.POST.get("next", "")}
    response = render(request, "sign_in.html", context, status=429)
    response["Retry-After"] = str(wait)
    return response


def address(request: HttpRequest) -> str:
    """Where the request came from, by the word of a trusted proxy where there is one."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.TRUST_PROXY else ""
    return forwarded.rpartition(",")[2].strip() or request.META.get("REMOTE_ADDR", "")
