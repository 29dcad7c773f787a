"""Pairs by similarity band under two thresholds, and what happens to each band."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.template.defaultfilters import pluralize

from memories.contracts.number_format import format_number
from memories.pages.dedup.pair_survey import SurveyPair
from scoring.dedup import Band, merge_band
from scoring.policy import WritePolicyParams

# What happens to the pairs of a band, nearest first.
BAND_OUTCOMES: Mapping[Band, str] = {
    "duplicate": "would be merged",
    "escalate": "would be judged",
    "distinct": "stay two",
}
CHIP_CLASSES: Mapping[Band, str] = {"duplicate": "chip on", "escalate": "chip mark", "distinct": ""}

PairsByBand = Mapping[Band, Sequence[SurveyPair]]


@dataclass(frozen=True)
class BandTally:
    """The pairs of one band, compared with the serving policy."""

    band: Band
    policy: WritePolicyParams
    pairs: int
    kept_apart: int  # of them, those with a reason not to merge
    effective_before: int  # under the serving policy

    @property
    def outcome(self) -> str:
        """What happens to them."""
        return BAND_OUTCOMES[self.band]

    @property
    def effective_pairs(self) -> int:
        """How many pairs the band's outcome applies to."""
        return self.pairs - self.kept_apart

    @property
    def change(self) -> int:
        """How many more than under the serving policy."""
        return self.effective_pairs - self.effective_before

    @property
    def change_text(self) -> str:
        """The change in words."""
        if not self.change:
            return ""
        more = f"▲ {self.change} more" if self.change > 0 else f"▼ {-self.change} fewer"
        return f"{more} {self.outcome}"

    @property
    def range_text(self) -> str:
        """The band's cosines."""
        if self.band == "duplicate":
            return f"above {format_number(self.policy.dedup_duplicate)}"
        if self.band == "escalate":
            escalate, duplicate = format_number(self.policy.dedup_escalate), format_number(self.policy.dedup_duplicate)
            return f"from {escalate}, and above {duplicate} in other words"
        return "below"

    @property
    def outcome_text(self) -> str:
        """What happens to the pairs, with the exceptions."""
        if self.band == "distinct":
            return "both stay"
        if not self.pairs:
            return "none this near"
        if self.kept_apart:
            reason = "they conflict, or differ in subject, user or time"
            return f"{self.effective_pairs} {self.outcome}, {self.kept_apart} kept apart: {reason}"
        return f"{'it' if self.pairs == 1 else 'all'} {self.outcome}"

    @property
    def empty_text(self) -> str:
        """What an empty band means."""
        duplicate, escalate = format_number(self.policy.dedup_duplicate), format_number(self.policy.dedup_escalate)
        if self.band == "duplicate":
            return f"No pair has a cosine above {duplicate} and says the same for certain."
        if self.band == "escalate":
            return f"No pair has a cosine from {escalate} and is left to a judge."
        return "Every pair is near enough to be judged."

    @property
    def chip_class(self) -> str:
        """Chip of a pair with this outcome; none for distinct pairs."""
        return CHIP_CLASSES[self.band]


def pair_band(pair: SurveyPair, policy: WritePolicyParams) -> Band:
    """The band of a pair; the cosine alone places those that are kept apart in any band."""
    by_cosine = pair.restated or bool(pair.reasons)
    return merge_band(pair.cosine, restated=by_cosine, duplicate=policy.dedup_duplicate, escalate=policy.dedup_escalate)


def group_by_band(pairs: Sequence[SurveyPair], policy: WritePolicyParams) -> PairsByBand:
    """The pairs of each band; `pairs` are sorted, nearest first."""
    groups: dict[Band, list[SurveyPair]] = {band: [] for band in BAND_OUTCOMES}
    for pair in pairs:
        groups[pair_band(pair, policy)].append(pair)
    return groups


def band_tallies(current: PairsByBand, before: PairsByBand, policy: WritePolicyParams) -> list[BandTally]:
    """Each band counted, and compared with the serving policy."""
    return [
        BandTally(band, policy, len(pairs), count_kept_apart(pairs), len(before[band]) - count_kept_apart(before[band]))
        for band, pairs in current.items()
    ]


def count_kept_apart(pairs: Sequence[SurveyPair]) -> int:
    """How many pairs have a reason not to merge."""
    return sum(bool(pair.reasons) for pair in pairs)


def bands_headline(tallies: Sequence[BandTally]) -> str:
    """How many pairs would be merged and judged."""
    effective = {tally.band: tally.effective_pairs for tally in tallies}
    merged = effective["duplicate"]
    merging = f"{merged} pair{pluralize(merged)} would be merged" if merged else "Nothing would be merged"
    return f"{merging}, {effective['escalate'] or 'none'} judged"
