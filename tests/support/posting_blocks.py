"""Posting blocks, as a worker packs them for a large namespace."""

from django.db import transaction

from memories.models import Namespace, Posting
from memories.writing.lock import lock_namespace
from memories.writing.posting_blocks import pack_terms


def pack_all(namespace: Namespace) -> None:
    """Pack every posting, however rare its term."""
    terms = Posting.objects.within(namespace).values_list("term", flat=True).distinct()
    with transaction.atomic():
        lock_namespace(namespace)
        pack_terms(namespace, list(terms))
    assert not Posting.objects.within(namespace).exists()
