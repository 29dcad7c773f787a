"""A limit to how often one key, or one person who is signed in, may ask."""

import math
from typing import Any, cast

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from memories.api.access import Access
from memories.api.allowances import allowances

FILE = "allowances"


class CallerThrottle(BaseThrottle):
    """As many requests of a caller as RECALL_RATE allows, at once or spread."""

    left = 0  # nanoseconds to wait

    def allow_request(self, request: Request, view: Any) -> bool:
        if settings.RECALL_RATE is not None:
            caller = cast(Access, request.auth).caller
            self.left = allowances(settings.DATA / FILE).take(caller, settings.RECALL_RATE)
        return not self.left

    def wait(self) -> int:
        """Whole seconds, as Retry-After tells them."""
        return math.ceil(self.left / 1e9)
