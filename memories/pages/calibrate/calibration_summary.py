"""Headlines and table rows of a calibration."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from memories.contracts.number_format import format_number
from memories.pages.calibrate.forms import PART_TITLES
from memories.tuning.calibration.agreement import Kappa, TypeAgreement
from memories.tuning.calibration.annotated import SIGNALS
from memories.tuning.calibration.confidence_weights import FittedWeights
from memories.tuning.calibration.findings import proposed_changes
from memories.tuning.calibration.results import Calibration
from scoring.calibration import ReliabilityBin, kappa_suffices


@dataclass(frozen=True)
class TypeRow:
    """Agreement on one type."""

    agreement: TypeAgreement

    @property
    def fitted_class(self) -> str:
        """Emphasis of the fitted prior: grey below the gate, marked if it differs."""
        if not self.agreement.valid:
            return "muted"
        return "marked" if self.agreement.fitted != self.agreement.prior else ""


class WeightRow(NamedTuple):
    """The weight of one confidence signal."""

    signal: str
    serving: float
    fitted: float

    @property
    def change(self) -> float:
        """Fitted minus serving."""
        return self.fitted - self.serving


class DomainRow(NamedTuple):
    """Agreement and fitted weights of one domain, or of all annotations."""

    name: str
    memories: int
    shared: int
    kappa: Kappa | None
    valid: bool
    weights: FittedWeights | None
    too_small: str

    @property
    def fitted(self) -> list[float]:
        """The fitted weights, in the order of the signals."""
        return list(self.weights.fitted.values()) if self.weights else []


@dataclass(frozen=True)
class CalibrationSummary:
    """What the page says of a calibration."""

    calibration: Calibration

    @property
    def gate_headline(self) -> str:
        """Whether annotators agree well enough."""
        calibration = self.calibration
        if missing := calibration.missing:
            return f"{missing} more memor{'y needs' if missing == 1 else 'ies need'} two annotators"
        if calibration.kappa is None:
            return "Every annotator gives one type only, so κ is undefined"
        kappa, gate = format_number(calibration.kappa.value, 2), format_number(calibration.policy.kappa_gate)
        if calibration.valid:
            return f"Annotators agree: κ {kappa} is above {gate}"
        return f"Annotators do not agree: κ {kappa} is not above {gate}"

    @property
    def types_headline(self) -> str:
        """How clear the type Preference is."""
        if self.calibration.preference.kappa is None:
            return "Agreement by type is not known yet"
        if self.calibration.preference_first:
            return "Preference is the least clear type"
        return "Preference is clear enough"

    @property
    def weights_headline(self) -> str:
        """Whether fitted weights are better."""
        weights = self.calibration.weights
        if weights is None:
            return "Too few annotations to fit weights"
        if weights.improves:
            return "Fitted weights come closer to the annotators"
        return "Fitted weights are no better than the current ones"

    @property
    def domains_headline(self) -> str:
        """How many domains the annotations name, and how many are large enough."""
        domains = self.calibration.domains
        if not domains:
            return "No annotation names a domain"
        enough = sum(not domain.too_small for domain in domains)
        return f"{len(domains)} domain{'' if len(domains) == 1 else 's'}, {enough} with enough annotations"

    @cached_property
    def domain_rows(self) -> list[DomainRow]:
        """All annotations first, then each domain."""
        calibration, annotated = self.calibration, self.calibration.annotated
        overall = DomainRow(
            "all", len(annotated.memories), len(annotated.shared), calibration.kappa, calibration.valid,
            calibration.weights, "",
        )  # fmt: skip
        gate = calibration.policy.kappa_gate
        return [overall] + [
            DomainRow(
                split.domain,
                split.memories,
                split.shared,
                split.kappa,
                split.kappa is not None and kappa_suffices(split.kappa.value, gate),
                split.weights,
                split.too_small,
            )
            for split in calibration.domains
        ]

    @property
    def signals(self) -> tuple[str, ...]:
        """The confidence signals that the weights are of."""
        return SIGNALS

    @property
    def reliability_headline(self) -> str:
        """The expected calibration error."""
        error = self.calibration.reliability.error
        if error is None:
            return "Calibration error is not known yet"
        fitted = f", {format_number(error.after, 3)} with fitted weights" if self.calibration.weights else ""
        return f"Confidence is off by {format_number(error.before, 3)}{fitted}"

    @property
    def threshold_headline(self) -> str:
        """The merge threshold with the lowest cost."""
        best = self.calibration.best
        if best is None:
            return "Too few judged pairs to compare thresholds"
        threshold = format_number(best.threshold, 2)
        if best.current:
            return f"Merging above {threshold} costs least, which is the current value"
        return f"Merging above {threshold} would cost least"

    @property
    def unknown_kappa(self) -> str:
        """Why a type has no κ."""
        return "too few annotations yet" if self.calibration.missing else "never told apart from the others"

    @cached_property
    def type_rows(self) -> list[TypeRow]:
        """Agreement by type."""
        return [TypeRow(agreement) for agreement in self.calibration.types]

    @cached_property
    def weight_rows(self) -> list[WeightRow]:
        """The weights of the confidence signals."""
        weights = self.calibration.weights
        if weights is None:
            return []
        values = zip(SIGNALS, weights.served.values(), weights.fitted.values(), strict=True)
        return [WeightRow(signal, serving, fitted) for signal, serving, fitted in values]

    @cached_property
    def reliability_rows(self) -> list[tuple[str, ReliabilityBin]]:
        """The bins of the reliability curve under the current weights, and under the fitted ones."""
        reliability = self.calibration.reliability
        rows = [("current", bin) for bin in reliability.before]
        return rows + [("fitted", bin) for bin in reliability.after] if self.calibration.weights else rows

    @cached_property
    def proposals(self) -> list[dict[str, Any]]:
        """What can be saved as a draft, each part with its parameters before and after."""
        serving = self.calibration.policy.as_dict()
        return [
            {
                "part": part,
                "title": PART_TITLES[part],
                "changes": [(name, serving[name], value) for name, value in change.items()],
            }
            for part, change in proposed_changes(self.calibration).items()
        ]
