"""Grounding on the page: verdicts on stored memories, what was dropped, and a dry run of the write path."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from memories.contracts.number_format import format_count
from memories.models import Memory, Namespace
from memories.models.choices import STATEMENTS, Role, Status
from memories.models.keys import NamespacedQuerySet
from memories.pages.access import check_role
from memories.pages.explanation_nodes import explanation_node
from memories.pages.guards.forms import statement_request_body
from memories.pages.memory_list.facets import MAX_COUNTED
from memories.text.provider_error import ProviderError
from memories.web.memory_body import NewMemorySerializer, new_memory_from_body
from memories.web.pagination import PageQuery, paginate
from memories.web.roles import Access
from memories.web.serializers import valid_values
from memories.web.validation_errors import flatten_errors
from memories.writing.decide import Outcome
from memories.writing.remember import remember
from scoring.policy import WritePolicyParams

PAGE_SIZE = 10  # dropped memories per page
# Without evidence there is nothing to check, and the stored verdict is "supported".
UNCHECKED = Q(grounding="supported", evidence="")
VERDICT_FILTERS: Mapping[str, Q] = {
    "supported": Q(grounding="supported") & ~UNCHECKED,
    "partial": Q(grounding="partial"),
    "unsupported": Q(grounding="unsupported"),
    "not_checked": UNCHECKED,
}
VERDICT_COLOURS = {"supported": "good", "partial": "mid", "unsupported": "bad", "not_checked": "mid"}


@dataclass(frozen=True)
class GroundingTotals:
    """How many memories grounding kept and dropped; exact up to `limit` of each."""

    kept: int
    dropped: int
    limit: int

    @property
    def all(self) -> int:
        """Kept and dropped together."""
        return self.kept + self.dropped

    @property
    def is_capped(self) -> bool:
        """Whether there may be more than were counted."""
        return max(self.kept, self.dropped) >= self.limit

    @property
    def dropped_text(self) -> str:
        """The dropped memories as a count, open-ended where capped."""
        return format_count(self.dropped) + (" or more" if self.dropped >= self.limit else "")

    @property
    def headline(self) -> str:
        """What grounding dropped, in one line."""
        if not self.all:
            return "Nothing was written here yet"
        if self.is_capped:
            return f"Grounding dropped {self.dropped_text}"
        return f"Grounding dropped {format_count(self.dropped) if self.dropped else 'none'} of {format_count(self.all)}"


def grounding_context(request: HttpRequest, namespace: Namespace, policy: WritePolicyParams) -> dict[str, Any]:
    """Memories by verdict, and one page of what was dropped."""
    kept, dropped = (count_verdicts(namespace, status) for status in (Status.ACTIVE, Status.REJECTED))
    longest = max([*(kept[verdict] + dropped[verdict] for verdict in VERDICT_FILTERS), 1])
    verdicts = [
        {
            "name": verdict,
            "count": kept[verdict] + dropped[verdict],
            "dropped": dropped[verdict],
            "kept_width": 100 * kept[verdict] / longest,
            "dropped_width": 100 * dropped[verdict] / longest,
            "colour": VERDICT_COLOURS[verdict],
        }
        for verdict in VERDICT_FILTERS
    ]
    cursor = {name: request.GET[name] for name in ("cursor",) if request.GET.get(name)}
    page_errors: list[dict[str, str]] = []
    try:
        query = valid_values(PageQuery(data={**cursor}))
        rejected = statements_by_status(namespace, Status.REJECTED)
        dropped_page = paginate(Request(request), namespace, rejected, query | {"limit": PAGE_SIZE})
    except ValidationError as error:
        dropped_page, page_errors = None, list(flatten_errors(error.detail))
    return {
        "verdicts": verdicts,
        "totals": GroundingTotals(sum(kept.values()), sum(dropped.values()), MAX_COUNTED),
        "dropped_page": dropped_page,
        "page_errors": page_errors,
        "penalty": policy.grounding_penalty,
        "floor": policy.grounding_floor,
    }


def statements_by_status(namespace: Namespace, status: Status) -> NamespacedQuerySet[Memory]:
    """The namespace's statements with a status."""
    return Memory.objects.within(namespace).filter(status=status, level__in=STATEMENTS)


def count_verdicts(namespace: Namespace, status: Status) -> dict[str, int]:
    """The newest memories of a status by verdict, up to the count limit."""
    newest = statements_by_status(namespace, status).order_by("-created_at", "id")[:MAX_COUNTED]
    return newest.aggregate(**{verdict: Count("id", filter=holds) for verdict, holds in VERDICT_FILTERS.items()})


@dataclass(frozen=True)
class GroundingTrial:
    """The outcome of a dry run."""

    outcome: Outcome
    checked: bool

    @property
    def is_merge(self) -> bool:
        """Whether it would be merged into a stored memory."""
        return self.outcome.outcome == "merged"

    @property
    def is_rejection(self) -> bool:
        """Whether it would be dropped."""
        return self.outcome.outcome == "rejected"

    @property
    def is_outright_rejection(self) -> bool:
        """Whether it would be dropped whatever its confidence."""
        return self.is_rejection and self.outcome.memory.grounding == "unsupported"

    @property
    def verdict(self) -> str:
        """The grounding verdict."""
        return self.outcome.memory.grounding if self.checked else "not checked"

    @property
    def reason(self) -> str:
        """Why it has this outcome; empty if there is no reason to give."""
        return self.outcome.reason or ("" if self.checked else "no evidence was given")

    @property
    def tree(self) -> Any:
        """The explanation of the confidence; none for a merge, whose confidence is another memory's."""
        return None if self.is_merge else explanation_node(self.outcome.explanation)


def try_statement(request: HttpRequest, access: Access) -> tuple[dict[str, Any], int]:
    """Dry-run the write path with the submitted statement; return the context and the HTTP status."""
    check_role(access, Role.WRITE)
    body = statement_request_body(request.POST)
    try:
        new = new_memory_from_body(access.namespace, valid_values(NewMemorySerializer(data=body)), set())
        (outcome,) = remember(access.namespace, [new], by=access.caller, dry_run=True)
    except ValidationError as error:
        return {"trial_errors": list(flatten_errors(error.detail))}, 400
    except ProviderError as error:
        return {"trial_errors": [{"at": "", "message": str(error)}]}, 503
    return {"trial": GroundingTrial(outcome, checked=bool(new.evidence.strip()))}, 200
