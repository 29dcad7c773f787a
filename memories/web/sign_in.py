"""A limit on failed sign-ins, against password guessing."""

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

SignInView = Callable[..., HttpResponseBase]

ATTEMPTS = 10  # per user name and client address, in each worker
WINDOW_SECONDS = 300


def limit_attempts(view: SignInView) -> SignInView:
    """Wrap a sign-in view to answer 429 after too many failed attempts in a row."""

    @never_cache
    @wraps(view)
    def limited_view(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        name = User.normalize_username(request.POST.get("username", "").strip())
        attempt_key = hashlib.sha256(f"{name}\n{client_address(request)}".encode()).hexdigest()
        if wait := count_attempt(attempt_key):
            return too_many_attempts(request, wait)
        response = view(request, *args, **kwargs)
        if request.user.get_username() == name:
            cache.delete(attempt_key)
        return response

    return limited_view


def count_attempt(key: str) -> int:
    """Count an attempt before it is checked, so parallel ones count too; return the seconds to wait, or 0."""
    now = time.time()
    end = cache.get_or_set(key, now + WINDOW_SECONDS, WINDOW_SECONDS) or now + WINDOW_SECONDS  # None: evicted
    counter = f"{key}-{end}"
    cache.add(counter, 0, WINDOW_SECONDS)
    return math.ceil(end - now) if cache.incr(counter) > ATTEMPTS else 0


def too_many_attempts(request: HttpRequest, wait: int) -> HttpResponse:
    """The sign-in page with the time to wait, as 429."""
    minutes = math.ceil(wait / 60)
    context = {"wait": "a minute" if minutes == 1 else f"{minutes} minutes", "next": request.POST.get("next", "")}
    response = render(request, "sign_in.html", context, status=429)
    response["Retry-After"] = str(wait)
    return response


def client_address(request: HttpRequest) -> str:
    """The client's IP address, from X-Forwarded-For behind a trusted proxy."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.TRUST_PROXY else ""
    return forwarded.rpartition(",")[2].strip() or request.META.get("REMOTE_ADDR", "")
