"""Which judged queries may be tuned on, and which are kept back to check."""

import hashlib

from memories.models.choices import Part
from scoring.dedup import normalize

TUNE_SHARE = 0.7  # of all queries


def split_of(text: str) -> Part:
    """Decide by a query's text alone, for ever: no order, set, name or hand brings a question to the other side."""
    digest = hashlib.sha256(normalize(text).encode()).digest()
    return Part.TUNE if int.from_bytes(digest[:8]) < TUNE_SHARE * 2**64 else Part.HOLDOUT
