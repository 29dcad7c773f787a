"""Rate limit per API key or signed-in user."""

import math
from typing import Any, cast

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from memories.web.rate_limit import RateLimit, token_buckets
from memories.web.roles import Access


class CallerThrottle(BaseThrottle):
    """Limit a caller to this process's share of RECALL_RATE, bursts included."""

    wait_seconds = 0.0

    def allow_request(self, request: Request, view: Any) -> bool:
        if rate := RateLimit.from_settings():
            caller = cast(Access, request.auth).caller
            self.wait_seconds = token_buckets.take_token(caller, rate.share(settings.WORKERS))
        return not self.wait_seconds

    def wait(self) -> int:
        """Whole seconds, for Retry-After."""
        return math.ceil(self.wait_seconds)
