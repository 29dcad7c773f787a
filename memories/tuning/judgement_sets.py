"""Lookup of judgement sets."""

from uuid import UUID

from django.db.models import Count

from memories.models import JudgementSet, Namespace


class UnknownJudgementSetError(LookupError):
    """A judgement set that a namespace does not have."""


def choose_judgement_set(namespace: Namespace, name: str = "") -> JudgementSet:
    """The set of a name or an id; by default the one with most queries."""
    sets = JudgementSet.objects.within(namespace)
    if name:
        judgement_set = sets.filter(name=name).first() or judgement_set_by_id(namespace, name)
    else:
        judgement_set = sets.annotate(size=Count("queries")).filter(size__gt=0).order_by("-size", "name").first()
    if judgement_set is not None:
        return judgement_set
    known = ", ".join(sets.order_by("name").values_list("name", flat=True)[:20]) or "none yet"
    raise UnknownJudgementSetError(f"must be a judgement set of this namespace with queries ({known}); got {name!r}")


def judgement_set_by_id(namespace: Namespace, text: str) -> JudgementSet | None:
    """The set of an id, if the text is one."""
    try:
        return JudgementSet.objects.within(namespace).filter(id=UUID(text)).first()
    except ValueError:
        return None
