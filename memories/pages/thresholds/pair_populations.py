"""Pairs of nearest neighbours that thresholds of the write path decide on."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from uuid import UUID

from memories.models import Mention, Namespace
from memories.pages.dedup.pair_survey import PairSurvey, SurveyPair, find_survey, load_compared
from memories.pages.dedup.similarity_bands import BAND_OUTCOMES
from memories.pages.thresholds.populations import (
    Counted,
    DecisionLabels,
    NothingToCount,
    Population,
    Values,
    cached_until_write,
    label_if,
)
from memories.writing.comparison import are_unrelated, conflict_reasons, different_subjects
from memories.writing.decide import dedup_band
from scoring.belief import corroborates, may_contradict
from scoring.dedup import Band
from scoring.policy import WritePolicyParams

DEDUP_LABELS = DecisionLabels(
    (BAND_OUTCOMES["duplicate"], BAND_OUTCOMES["escalate"]),
    # A decision is a band, and whether the pair is kept apart whatever its band.
    lambda decision: () if decision[1] or decision[0] == "distinct" else (BAND_OUTCOMES[decision[0]],),
)
NO_PAIRS = NothingToCount("There are no two memories to compare here.", "Write some over the API", "docs")


@dataclass(frozen=True)
class RelatedPair:
    """Two nearest neighbours that the write path compares: what they share, and what keeps them apart."""

    cosine: float
    shared_entities: int
    conflict: bool
    restated: bool
    mergeable: bool


def dedup_pairs(namespace: Namespace, serving: WritePolicyParams) -> Counted:
    """Pairs by what dedup does with them."""
    survey = neighbour_survey(namespace)

    def decide(values: Values) -> list[tuple[Band, bool]]:
        policy = WritePolicyParams.of(values)
        return [(dedup_band(policy, pair.cosine, restated=pair.restated), bool(pair.reasons)) for pair in survey.pairs]

    return pair_population(survey, len(survey.pairs), decide, DEDUP_LABELS)


def corroborating_pairs(namespace: Namespace, serving: WritePolicyParams) -> Counted:
    """Pairs by whether the one would corroborate the other, if it came from another source."""
    survey, pairs = neighbour_survey(namespace), related_pairs(namespace)

    def decide(values: Values) -> list[bool]:
        policy = WritePolicyParams.of(values)
        return [
            not (pair.mergeable and dedup_band(policy, pair.cosine, restated=pair.restated) == "duplicate")
            and corroborates(
                pair.shared_entities,
                pair.cosine,
                needed=policy.corroboration_shared,
                threshold=policy.corroboration_cosine,
                conflict=pair.conflict,
            )
            for pair in pairs
        ]

    return pair_population(survey, len(pairs), decide, label_if("would corroborate, if independent"))


def contradiction_pairs(namespace: Namespace, serving: WritePolicyParams) -> Counted:
    """Pairs by whether they are nominated for the judge of contradictions."""
    survey, pairs = neighbour_survey(namespace), related_pairs(namespace)

    def decide(values: Values) -> list[bool]:
        policy = WritePolicyParams.of(values)
        band = {"low": policy.contradiction_low, "high": policy.contradiction_high}
        return [
            may_contradict(pair.shared_entities, pair.cosine, needed=policy.contradiction_shared, **band)
            for pair in pairs
        ]

    return pair_population(survey, len(pairs), decide, label_if("would be judged"))


def neighbour_survey(namespace: Namespace) -> PairSurvey:
    """The pairs of nearest neighbours, as the Dedup page surveys them."""
    survey = find_survey(namespace, wait=True)
    assert survey is not None
    return survey


def pair_population(
    survey: PairSurvey, size: int, decide: Callable[[Values], Sequence[Hashable]], labels: DecisionLabels
) -> Counted:
    """Pairs of a survey."""
    if not size:
        return NO_PAIRS
    kind = "of nearest neighbours"
    if not survey.is_complete:
        kind += f", from {survey.compared:,} of {survey.memories:,} memories"
    return Population("pair", "pairs", size, size, decide, labels, kind)


def related_pairs(namespace: Namespace) -> list[RelatedPair]:
    """The surveyed pairs that may support or contradict each other."""
    survey = neighbour_survey(namespace)
    return cached_until_write(namespace, ("related", survey.at), lambda: load_related_pairs(namespace, survey.pairs))


def load_related_pairs(namespace: Namespace, pairs: Sequence[SurveyPair]) -> list[RelatedPair]:
    """Load what the two of each pair share."""
    memories = load_compared(namespace, [pair.neighbours for pair in pairs])
    entities: dict[UUID, set[UUID]] = {}
    for memory, entity in (
        Mention.objects.within(namespace).filter(memory_id__in=memories).values_list("memory_id", "entity_id")
    ):
        entities.setdefault(memory, set()).add(entity)
    related = []
    for pair in pairs:
        first, second = (memories.get(id) for id in pair.neighbours[:2])
        if first is None or second is None or are_unrelated(first, second):
            continue
        conflict = bool(conflict_reasons(first, second))
        shared = entities.get(first.id, set()) & entities.get(second.id, set())
        mergeable = not conflict and not different_subjects(first, second)
        related.append(RelatedPair(pair.cosine, len(shared), conflict, pair.restated, mergeable))
    return related
