"""Checks of timestamps: not in the future, and not expired on creation."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from rest_framework.exceptions import ValidationError

from memories.models import Namespace

MAX_CLOCK_SKEW = timedelta(minutes=5)  # tolerated clock skew of a caller


def check_not_future(namespace: Namespace, values: Mapping[str, Any], *names: str) -> None:
    """Reject timestamps in the future, beyond the tolerated clock skew."""
    now = namespace.now
    for name in names:
        if (timestamp := values.get(name)) is not None and timestamp - now > MAX_CLOCK_SKEW:
            message = f"must not lie in the future; it is {now.isoformat()} here; got {timestamp.isoformat()}"
            raise ValidationError({name: [message]})


def check_not_expired(namespace: Namespace, values: Mapping[str, Any]) -> None:
    """Reject a validity that ends before the memory was created; imported memories bring their own created_at."""
    created = values.get("created_at") or namespace.now
    if (until := values.get("valid_until")) is not None and until <= created:
        message = (
            f"must lie after created_at ({created.isoformat()}), or it would never be valid; got {until.isoformat()}"
        )
        raise ValidationError({"valid_until": [message]})
