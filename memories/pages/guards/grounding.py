"""What grounding decided when memories were written, what it dropped, and what it would decide."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest, QueryDict
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from memories.api.memories import NewMemorySerializer
from memories.api.memories import new_memory_from_body as memory_of
from memories.models import Memory, Namespace
from memories.models.choices import STATEMENTS, MemoryType, Role, SourceLevel, Status
from memories.models.keys import NamespacedQuerySet
from memories.pages.access import need
from memories.pages.explanation_nodes import explanation_node
from memories.pages.memory_list.facets import MAX_COUNTED
from memories.pages.request_data import filled_fields
from memories.providers.unavailable import ProviderError
from memories.web.pagination import PageQuery, paginate
from memories.web.roles import Access
from memories.web.serializers import valid_values
from memories.writing.remember import Outcome, remember
from recall_site.problems import flat
from scoring.policy import WritePolicyParams

LISTED = 10  # dropped memories on a page
TRIED = ("content", "evidence", "type", "source_level")
# Nobody gave a text to check it against, so there was nothing to doubt.
UNCHECKED = Q(grounding="supported", evidence="")
VERDICTS: Mapping[str, Q] = {
    "supported": Q(grounding="supported") & ~UNCHECKED,
    "partial": Q(grounding="partial"),
    "unsupported": Q(grounding="unsupported"),
    "not_checked": UNCHECKED,
}
HUES = {"supported": "good", "partial": "mid", "unsupported": "bad", "not_checked": "mid"}


def shown(request: HttpRequest, namespace: Namespace, policy: WritePolicyParams) -> dict[str, Any]:
    """How many got which verdict, and a page of what was dropped; a cursor from elsewhere is told."""
    kept, dropped = (counts(namespace, status) for status in (Status.ACTIVE, Status.REJECTED))
    most = max([*(kept[name] + dropped[name] for name in VERDICTS), 1])
    verdicts = [
        {
            "name": name,
            "count": kept[name] + dropped[name],
            "dropped": dropped[name],
            "kept_width": 100 * kept[name] / most,
            "dropped_width": 100 * dropped[name] / most,
            "hue": HUES[name],
        }
        for name in VERDICTS
    ]
    cursor = {name: request.GET[name] for name in ("cursor",) if request.GET.get(name)}
    wrong: list[dict[str, str]] = []
    try:
        query = valid_values(PageQuery(data={**cursor}))
        found = paginate(Request(request), namespace, of_status(namespace, Status.REJECTED), query | {"limit": LISTED})
    except ValidationError as error:
        found, wrong = None, list(flat(error.detail))
    return {
        "verdicts": verdicts,
        "weighed": sum(kept.values()) + sum(dropped.values()),
        "dropped": sum(dropped.values()),
        "capped": MAX_COUNTED if max(sum(kept.values()), sum(dropped.values())) >= MAX_COUNTED else 0,
        "found": found,
        "wrong_page": wrong,
        "penalty": policy.grounding_penalty,
        "floor": policy.grounding_floor,
    }


def of_status(namespace: Namespace, status: Status) -> NamespacedQuerySet[Memory]:
    """The statements of a namespace that stand so."""
    return Memory.objects.within(namespace).filter(status=status, level__in=STATEMENTS)


def counts(namespace: Namespace, status: Status) -> dict[str, int]:
    """The newest memories of a status by verdict, as many as are counted."""
    newest = of_status(namespace, status).order_by("-created_at", "id")[:MAX_COUNTED]
    return newest.aggregate(**{name: Count("id", filter=holds) for name, holds in VERDICTS.items()})


def form(sent: QueryDict, access: Access) -> dict[str, Any]:
    """What can be tried, and by whom."""
    return {
        "tried_typed": {name: sent.get(name, "") for name in TRIED},
        "types": MemoryType.values,
        "levels": SourceLevel.values,
        "may_try": access.allows(Role.WRITE),
    }


def dry_run(request: HttpRequest, access: Access) -> tuple[dict[str, Any], int]:
    """Tell what would become of a statement and its evidence; all of it is taken back."""
    need(access, Role.WRITE)
    given = {name: text for name, text in filled_fields(request.POST).items() if name in TRIED}
    try:
        new = memory_of(access.namespace, valid_values(NewMemorySerializer(data=given)), set())
        (outcome,) = remember(access.namespace, [new], by=access.caller, dry_run=True)
    except ValidationError as error:
        return {"wrong_try": list(flat(error.detail))}, 400
    except ProviderError as error:
        return {"wrong_try": [{"at": "", "message": str(error)}]}, 503
    return {"outcome": outcome, "unchecked": not new.evidence.strip(), "tree": tree_of(outcome)}, 200


def tree_of(outcome: Outcome) -> Any:
    """How the confidence would come about; of what is merged it is that of another memory, and tells nothing here."""
    return None if outcome.outcome == "merged" else explanation_node(outcome.explanation)
