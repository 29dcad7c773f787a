"""Source 000, appendix C: one memory through all ten steps, each number computed from its evidence and signals."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from scoring.catalogue.entry import Formula, PrintedValue
from scoring.catalogue.recall import SOURCE
from scoring.evidence import Evidence, extractor_signal, prior_signal, repetition_signal, source_signal
from scoring.policy import WritePolicyParams
from scoring.signals import Signals
from scoring.systems import recall
from scoring.systems.recall import RecallParams
from scoring.term import Term

# The example's own data, as the appendix gives it.
EXAMPLE_CONTENT = "Uses PostgreSQL for new projects; team standard since joining Arrive in 2024"
EXAMPLE_STATEMENT = (
    "I always use PostgreSQL for new projects — it's been our team's standard since we joined Arrive in 2024."
)
EXAMPLE_QUERY = "What database does the user prefer for new projects?"
EXAMPLE_TYPE, EXAMPLE_MODEL, EXAMPLE_LEVEL = "Preference", "Claude Haiku", "direct"
EXAMPLE_OBSERVATIONS, EXAMPLE_ACCESSES, EXAMPLE_AGE = 3, 4, 90  # n; accesses; days
EXAMPLE_RANKS: Mapping[str, int] = {"semantic": 3, "bm25": 1}
EXAMPLE_PLACE = 4
_FORMULAS = {formula.name: formula for formula in SOURCE.formulas}
_OTHER_CANDIDATES = "The paper does not print its other candidates; here the place is among this namespace's."


@dataclass(frozen=True)
class WorkedStep:
    """One step of the appendix: its formula, and its numbers beside the paper's."""

    title: str
    formula: Formula
    numbers: tuple[PrintedValue, ...]
    note: str = ""
    shows_formula: bool = True  # not where a table is looked up


@dataclass(frozen=True, eq=False)
class WorkedMemory:
    """A memory's evidence and signals under the paper's parameters; the ranks are the paper's."""

    evidence: Evidence
    signals: Signals  # of this memory alone
    place: int  # among the candidates of the paper's query
    policy: WritePolicyParams = WritePolicyParams()
    params: RecallParams = RecallParams()

    @cached_property
    def confidence(self) -> Term:
        """The confidence, with its derivation."""
        return recall.memory_confidence(self.evidence, self.policy)

    @cached_property
    def weight(self) -> Term:
        """The retrieval weight at the paper's ranks, with its derivation."""
        ranks = {retriever: np.array([float(rank)]) for retriever, rank in EXAMPLE_RANKS.items()}
        return recall.score(replace(self.signals, ranks=ranks, scores={}), self.params)

    @cached_property
    def confidence_signals(self) -> dict[str, Term]:
        """The four signals of confidence, by the names of their weights."""
        return {
            "source": source_signal(self.evidence, self.policy),
            "repetition": repetition_signal(self.evidence),
            "extractor": extractor_signal(self.evidence, self.policy),
            "prior": prior_signal(self.evidence, self.policy),
        }

    def signal(self, name: str) -> float:
        """One signal of confidence."""
        return float(self.confidence_signals[name].value)

    def share(self, name: str) -> float:
        """A signal's weighted share of the confidence."""
        names = list(self.confidence_signals)
        weights = self.policy.weights(*(f"weight_{signal}" for signal in names))
        return float(weights[names.index(name)].value) * self.signal(name)

    def factor(self, name: str) -> float:
        """A named term of the retrieval weight."""
        term = self.weight.find(name)
        assert term is not None
        return float(term.value[0])

    @property
    def log_observations(self) -> float:
        """ln(1 + n)"""
        return float(np.log1p(self.evidence.repetitions))

    @property
    def log_accesses(self) -> float:
        """ln(1 + accesses)"""
        return float(np.log1p(self.signals.access_count[0]))

    @property
    def is_included(self) -> bool:
        """Whether it is within the cut, and above the retrieval floor."""
        return self.place <= self.params.cut and float(self.confidence.value) >= self.params.min_confidence


def catalogue_value(formula: str, printed: str) -> PrintedValue:
    """A value that the catalogue has of a formula, with its ruling."""
    return next(value for value in _FORMULAS[formula].printed_values if value.printed == printed)


def catalogue_constant(formula: str, param: str) -> str:
    """A constant as the catalogue prints it."""
    return next(constants.printed[param] for constants in _FORMULAS[formula].constants if param in constants.printed)


class StepNumber(NamedTuple):
    """A number of a step: its label, how the paper prints it, and its computation."""

    label: str
    printed: str
    compute: Callable[[], float]


def worked_step(title: str, source: str, *numbers: StepNumber, formula: str = "", note: str = "") -> WorkedStep:
    """A step whose numbers the catalogue has of the formula `source`; it shows that formula or another."""
    values = [
        replace(catalogue_value(source, number.printed), label=number.label, compute=number.compute)
        for number in numbers
    ]
    return WorkedStep(title, _FORMULAS[formula or source], tuple(values), note)


def constant_step(formula: str, param: str, label: str, compute: Callable[[], float], note: str = "") -> WorkedStep:
    """A step whose only number is a constant; with a note it comes from a table."""
    value = PrintedValue(catalogue_constant(formula, param), label, compute)
    return WorkedStep(formula, _FORMULAS[formula], (value,), note, shows_formula=not note)


def worked_steps(memory: WorkedMemory) -> list[WorkedStep]:
    """The ten steps, computed from the memory."""
    return [*confidence_steps(memory), *weight_steps(memory), inclusion_step(memory)]


def confidence_steps(memory: WorkedMemory) -> Iterator[WorkedStep]:
    """Steps 1 to 5: what the memory is stored with."""
    signal, share, log_n = memory.signal, memory.share, memory.log_observations
    counting = next(claim for claim in _FORMULAS["Repetition boost"].claims if "Appendix C" in claim.text)
    yield constant_step("Source strength", "source_direct", "s, the strongest level", lambda: signal("source"))
    yield worked_step(
        *("Repetition boost", "Repetition boost"),
        StepNumber("ln(1 + n)", "1.3863", lambda: log_n),
        StepNumber("1 + ln(1 + n)", "2.3863", lambda: 1 + log_n),
        StepNumber("1 ÷ (1 + ln(1 + n))", "0.4191", lambda: 1 / (1 + log_n)),
        StepNumber("r(n)", "0.581", lambda: signal("repetition")),
        note=counting.ruling,
    )
    table = "Claude Haiku's in the table, as no token probabilities were given."
    yield constant_step("Extractor confidence", "extractor_haiku", "e", lambda: signal("extractor"), table)
    yield constant_step("Type prior", "prior_preference", "t", lambda: signal("prior"), "A Preference's in the table.")
    yield worked_step(
        *("Confidence computation", "Confidence"),
        StepNumber("share of s", "0.4275", lambda: share("source")),
        StepNumber("share of r", "0.1162", lambda: share("repetition")),
        StepNumber("share of e", "0.200", lambda: share("extractor")),
        StepNumber("share of t", "0.075", lambda: share("prior")),
        StepNumber("confidence", "0.8187", lambda: float(memory.confidence.value)),
        StepNumber("confidence, rounded", "0.82", lambda: float(memory.confidence.value)),
    )


def weight_steps(memory: WorkedMemory) -> Iterator[WorkedStep]:
    """Steps 6 to 9: what it weighs when it is retrieved."""
    factor, log_accesses = memory.factor, memory.log_accesses
    weight = "Combined retrieval weight"
    yield worked_step(
        *("Freshness at retrieval time", weight),
        StepNumber("freshness", "0.50", lambda: factor("freshness")),
        formula="Freshness",
    )
    yield worked_step(
        *("Access boost", "Access boost"),
        StepNumber("ln(1 + accesses)", "1.6094", lambda: log_accesses),
        StepNumber("access boost", "2.609", lambda: factor("access boost")),
    )
    yield worked_step(
        *("RRF fusion score", "Reciprocal rank fusion"),
        StepNumber("semantic, rank 3", "0.01587", lambda: factor("semantic")),
        StepNumber("BM25, rank 1", "0.01639", lambda: factor("bm25")),
        StepNumber("RRF", "0.03226", lambda: factor("RRF")),
        StepNumber("RRF, rounded", "0.0323", lambda: factor("RRF")),
        note="Ranks and plan are the paper's: third by meaning, first by BM25, hybrid.",
    )
    yield worked_step(
        *("Final retrieval weight", weight),
        StepNumber("freshness × access boost", "1.3045", lambda: factor("freshness") * factor("access boost")),
        StepNumber("weight", "0.04213", lambda: factor("weight")),
        StepNumber("weight, rounded", "0.0421", lambda: factor("weight")),
    )


def inclusion_step(memory: WorkedMemory) -> WorkedStep:
    """Step 10: whether it comes into the context."""
    weight, params = "Combined retrieval weight", memory.params
    printed = {param: catalogue_constant(weight, param) for param in ("min_confidence", "cut")}
    numbers = (
        PrintedValue(printed["min_confidence"], "retrieval floor", lambda: params.min_confidence),
        PrintedValue(printed["cut"], "top-K cutoff", lambda: float(params.cut)),
        PrintedValue(str(EXAMPLE_PLACE), "place by weight", lambda: float(memory.place)),
    )
    decision = "within the cut and above the floor, so it is" if memory.is_included else "so it is not"
    note = f"Here {decision} included. {_OTHER_CANDIDATES}"
    return WorkedStep("Context inclusion decision", _FORMULAS[weight], numbers, note, shows_formula=False)
