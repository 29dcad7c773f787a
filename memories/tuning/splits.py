"""Which judged queries may be tuned on, and which are held out."""

import hashlib

from memories.models.choices import Split
from scoring.dedup import normalize

TUNE_SHARE = 0.7  # of all queries


def split_of(text: str) -> Split:
    """The split of a query, by a hash of its normalised text, so that it never changes."""
    digest = hashlib.sha256(normalize(text).encode()).digest()
    return Split.TUNE if int.from_bytes(digest[:8]) < TUNE_SHARE * 2**64 else Split.HOLDOUT
