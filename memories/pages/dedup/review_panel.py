"""The review queue on the page, and a sample of pairs over all cosines to fill it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest

from django.template.defaultfilters import pluralize
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from memories.contracts.number_format import format_count
from memories.models import Memory, Namespace, ReviewItem
from memories.models.choices import Status, Verdict
from memories.pages.dedup.neighbour_pairs import NeighbourPair
from memories.pages.dedup.pair_survey import MIN_COSINE, find_survey
from memories.pages.dedup.word_diff import DiffPiece, word_diff
from memories.web.pagination import Page, paginate
from memories.web.review_items import review_items
from memories.web.validation_errors import validation_problems
from scoring.params import ParamProblem

PAGE_SIZE = 5
MAX_COUNTED = 1_000
SAMPLE_SIZE = 20  # pairs
STRATUM_WIDTH = 0.05  # of cosine
SAMPLE_REASON = "sampled over all cosines"


@dataclass(frozen=True)
class PendingReview:
    """A pair to decide, with its word diff."""

    item: ReviewItem
    first: list[DiffPiece]
    second: list[DiffPiece]


@dataclass(frozen=True)
class ReviewPanel:
    """One page of pending reviews, and how many there are."""

    reviews: list[PendingReview]
    page: Page
    pending: int

    @property
    def headline(self) -> str:
        """How many pairs are pending."""
        if self.pending > MAX_COUNTED:
            return f"More than {format_count(MAX_COUNTED)} pairs to review"
        if not self.pending:
            return "No pair to review"
        return f"{self.pending} pair{pluralize(self.pending)} to review"


def load_review_panel(request: Request, namespace: Namespace) -> tuple[ReviewPanel, list[ParamProblem]]:
    """The pending reviews after a cursor, newest first; an invalid cursor gives the first page and errors."""
    rows = review_items(namespace, Verdict.PENDING)
    cursor = {"cursor": request.query_params["cursor"]} if "cursor" in request.query_params else {}
    problems = list[ParamProblem]()
    try:
        page = paginate(request, namespace, rows, {"limit": PAGE_SIZE, **cursor})
    except ValidationError as error:
        page = paginate(request, namespace, rows, {"limit": PAGE_SIZE})
        problems = validation_problems(error)
    reviews = [PendingReview(item, *word_diff(item.first.content, item.second.content)) for item in page.rows]
    return ReviewPanel(reviews, page, rows.values("id")[: MAX_COUNTED + 1].count()), problems


def queue_pair_sample(namespace: Namespace) -> int:
    """Add unreviewed pairs to the queue, evenly over all cosines; return how many were added.

    Pairs that the thresholds decide automatically are not judged otherwise.
    """
    survey = find_survey(namespace, wait=True)
    assert survey is not None
    reviewed = set(ReviewItem.objects.within(namespace).values_list("first_id", "second_id"))
    # Pairs that are kept apart whatever their cosine say nothing about a threshold.
    eligible = [pair.neighbours for pair in survey.pairs if pair.cosine >= MIN_COSINE and not pair.reasons]
    unreviewed = [pair for pair in eligible if (pair.first, pair.second) not in reviewed]
    sample = list(islice(interleave_strata(unreviewed), SAMPLE_SIZE))
    memories = Memory.objects.within(namespace).filter(status=Status.ACTIVE)
    active = set(memories.filter(id__in=[id for pair in sample for id in pair[:2]]).values_list("id", flat=True))
    items = [
        ReviewItem(
            namespace=namespace,
            first_id=pair.first,
            second_id=pair.second,
            cosine=pair.cosine,
            reason=SAMPLE_REASON,
        )
        for pair in sample
        if active.issuperset(pair[:2])
    ]
    ReviewItem.objects.bulk_create(items, ignore_conflicts=True)
    return len(items)


def interleave_strata(pairs: Sequence[NeighbourPair]) -> Iterator[NeighbourPair]:
    """Pairs in turn from each stratum of cosines, nearest stratum first."""
    strata: dict[int, list[NeighbourPair]] = defaultdict(list)
    for pair in pairs:
        strata[int(pair.cosine / STRATUM_WIDTH)].append(pair)
    rounds = zip_longest(*(strata[stratum] for stratum in sorted(strata, reverse=True)))
    return (pair for pair in chain.from_iterable(rounds) if pair is not None)
