"""The pairs that wait for a person."""

from dataclasses import dataclass

from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from memories.api.review_queue import review_items
from memories.models import Namespace, ReviewItem
from memories.models.choices import Verdict
from memories.pages.dedup.differences import Piece, differences
from memories.web.pagination import Page, paginate
from memories.web.validation_errors import flatten_errors as flat
from scoring.params import ParamProblem

AT_ONCE = 5
MOST_COUNTED = 1_000


@dataclass(frozen=True)
class Waiting:
    """A pair that waits, with its differences marked."""

    item: ReviewItem
    first: list[Piece]
    second: list[Piece]


@dataclass(frozen=True)
class Queue:
    """A page of the pairs that wait, and how many there are in all."""

    items: list[Waiting]
    page: Page
    waiting: int
    most: int = MOST_COUNTED

    @property
    def many(self) -> bool:
        """Whether there are more than were counted."""
        return self.waiting > self.most


def queue(request: Request, namespace: Namespace) -> tuple[Queue, list[ParamProblem]]:
    """The newest pairs that wait, or those after a cursor; one that is none leads to the beginning, and is told."""
    rows = review_items(namespace, Verdict.PENDING)
    cursor = {"cursor": request.query_params["cursor"]} if "cursor" in request.query_params else {}
    try:
        found, wrong = paginate(request, namespace, rows, {"limit": AT_ONCE, **cursor}), list[ParamProblem]()
    except ValidationError as error:
        found, wrong = (
            paginate(request, namespace, rows, {"limit": AT_ONCE}),
            [ParamProblem(one["at"], one["message"]) for one in flat(error.detail)],
        )
    shown = [Waiting(item, *differences(item.first.content, item.second.content)) for item in found.rows]
    return Queue(shown, found, rows.values("id")[: MOST_COUNTED + 1].count()), wrong
