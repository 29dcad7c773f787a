"""Which judgement set is meant."""

from django.db.models import Count

from memories.models import JudgementSet, Namespace


class UnknownSetError(LookupError):
    """A judgement set that a namespace does not have."""


def chosen_set(namespace: Namespace, name: str = "") -> JudgementSet:
    """The set of a name, else the one with most queries."""
    sets = JudgementSet.objects.within(namespace)
    if name:
        found = sets.filter(name=name).first()
    else:
        found = sets.annotate(size=Count("queries")).filter(size__gt=0).order_by("-size", "name").first()
    if found is not None:
        return found
    known = ", ".join(sets.order_by("name").values_list("name", flat=True)[:20]) or "none yet"
    raise UnknownSetError(f"must be a judgement set of this namespace with queries ({known}); got {name!r}")
