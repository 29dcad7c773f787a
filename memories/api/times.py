"""Moments that cannot be: told before they came, or over before they began."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from rest_framework.exceptions import ValidationError

from memories.models import Namespace

SKEW = timedelta(minutes=5)  # that a caller's clock may be ahead of ours


def check_past(namespace: Namespace, values: Mapping[str, Any], *names: str) -> None:
    """Refuse what cannot have been yet: nobody says or observes anything in the future."""
    now = namespace.now
    for name in names:
        if (moment := values.get(name)) is not None and moment - now > SKEW:
            wrong = f"must not lie in the future; it is {now.isoformat()} here; got {moment.isoformat()}"
            raise ValidationError({name: [wrong]})


def check_holds(namespace: Namespace, values: Mapping[str, Any]) -> None:
    """Refuse what has expired before it was stored; what is imported with its past counts from its own time."""
    stored = values.get("created_at") or namespace.now
    if (until := values.get("valid_until")) is not None and until <= stored:
        wrong = f"must lie after created_at ({stored.isoformat()}), or it would never hold; got {until.isoformat()}"
        raise ValidationError({"valid_until": [wrong]})
