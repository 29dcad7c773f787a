"""Rate limit per API key or signed-in user."""

import math
from typing import Any, cast

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from memories.web.rate_limit import token_buckets
from memories.web.roles import Access

BUCKETS_FILE = "allowances"


class CallerThrottle(BaseThrottle):
    """Limit a caller to RECALL_RATE, bursts included."""

    wait_ns = 0  # nanoseconds to wait

    def allow_request(self, request: Request, view: Any) -> bool:
        if settings.RECALL_RATE is not None:
            caller = cast(Access, request.auth).caller
            self.wait_ns = token_buckets(settings.DATA / BUCKETS_FILE).take_token(caller, settings.RECALL_RATE)
        return not self.wait_ns

    def wait(self) -> int:
        """Whole seconds, for Retry-After."""
        return math.ceil(self.wait_ns / 1e9)
