"""The catalogue holds every formula and every number the five sources print."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from scoring.catalogue import SOURCES
from scoring.catalogue.entry import Constants, Figure, Formula, Source
from scoring.params import Number
from scoring.systems import SYSTEMS

FORMULAS = [(source, formula) for source in SOURCES for formula in source.formulas]
FIGURES = [(source, formula, figure) for source, formula in FORMULAS for figure in formula.figures]
CONSTANTS = [
    (source, formula, constants, name)
    for source, formula in FORMULAS
    for constants in formula.constants
    for name in constants.printed
]

# What each source defines, in the order of its text: section, and the formulas of the catalogue that stand for it.
INVENTORY = {
    "000": {
        "Notation": ["Temporal proximity"],
        "Confidence Scoring": ["Confidence"],
        "Source strength values": ["Source strength"],
        "Repetition boost and why it's logarithmic": ["Repetition boost"],
        "Extractor confidence": ["Extractor confidence"],
        "Type prior": ["Type prior"],
        "Confirmation update": ["Confirmation", "Confirmation cap"],
        "Exponential decay": ["Freshness"],
        "Freshness floor": ["Freshness floor"],
        "Access boost": ["Access boost"],
        "Combined retrieval weight": ["Combined retrieval weight"],
        "Reciprocal Rank Fusion": ["Reciprocal rank fusion"],
        "Why k=60": ["Spread between ranks"],
        "BM25 Scoring": ["BM25", "Inverse document frequency", "Term saturation"],
        "Hop score decay": ["Hop score"],
        "Path confidence: MIN not product": ["Path confidence", "Traversal score"],
        "Deduplication Math": ["Hash deduplication", "Cosine deduplication", "Contradictory signals", "Merge"],
        "Diversity: Maximal Marginal Relevance": ["Maximal marginal relevance"],
        "Query Specificity": ["Query specificity", "Entity density", "Lexical rarity", "Plan"],
        "Grounding confidence penalty": ["Grounding penalty"],
        "Faithfulness score": ["Faithfulness", "Risk"],
        "Layered escape rate": ["Escape rate"],
        "All Thresholds in One Place": ["Consolidation", "Concept drift", "Index recall alert"],
        "The calibration dataset": ["Cohen's kappa"],
        "Confidence formula weights": ["Confidence weights"],
        "Cosine dedup threshold 0.92": ["Deduplication errors"],
        "Recalibration trigger": ["Recalibration triggers"],
        "Entity resolution failure": ["Unresolved subject"],
    },
    "001": {
        "The default formula": ["Hybrid score"],
        "Semantic factor": ["Semantic factor"],
        "Recency factor": ["Recency factor"],
        "Usage factor": ["Usage factor"],
        "Cluster factor": ["Cluster factor"],
        "The variance floor tiebreak": ["Variance floor tiebreak"],
        "Additive boosts": ["Edge boosts", "Personalisation and session"],
        "Adaptive weights": ["Adaptive weights"],
    },
    "002": {
        "Step-by-Step Implementation": ["Belief update", "Belief multiplier", "Adaptive score"],
        "detect_corroboration": ["Corroboration"],
        "detect_contradictions": ["Contradiction candidates"],
        "apply_evidence_gate": ["Evidence gate"],
    },
    "003": {
        "Step 1": ["Candidates per route", "Candidates before selection"],
        "Step 2": ["Fusion of routes"],
        "Step 3": ["Final score"],
        "Step 4": ["Redundancy", "Tag overlap", "Selection"],
    },
    "004": {
        "The formula": ["Composite score"],
        "Score dimensions": ["Utility"],
        "Recency decay": ["Recency decay", "Half-life of a rate"],
        "Provenance attenuation": ["Provenance attenuation"],
        "Expiry-aware scoring": ["Expiry"],
    },
}

# Numbers the sources print that no formula gives: years, inputs of an example, steps of a derivation.
NOT_FIGURES = {
    "000": {
        "2009": "a year", "2024": "a year", "2025": "a year", "1998": "a year", "3.5": "a model's name",
        "100": "an input: the 100th observation, 100 accesses", "1000": "an input: 1,000 accesses",
        "11": "a denominator, 10 + 1", "61": "a denominator, 60 + 1", "63": "a denominator, 60 + 3",
        "110": "a denominator, 60 + 50", "201": "a denominator, 200 + 1", "250": "a denominator, 200 + 50",
        "9": "the number of a step", "2": "a base, a count, a reference",
    },
    "001": {"2": "the 2 of ln(2)"},
    "002": {"14": "a version in an example", "15": "a version in an example"},
    "003": {
        "184": "lines of the page", "125": "lines of the page", "4.76": "size of the page",
        "1": "a numerator, a step", "3": "the number of a step",
    },
    "004": {
        "0": "an end of a range", "1": "an end of a range", "1.0": "the sum of weights", "10": "top k of an example",
        "0.60": "a weight of an example", "0.01": "a rate of an example", "3": "hops of an example",
        "48": "an input: hours before expiry",
    },
}  # fmt: skip


def printed_by(source: Source) -> set[float]:
    """Every number the catalogue accounts for."""
    return {float(number) for formula in source.formulas for number in numbers_of(formula)} | {
        float(number) for reported in source.reported for number in reported.printed
    }


def numbers_of(formula: Formula) -> Iterator[str]:
    yield from (figure.printed for figure in formula.figures)
    for constants in formula.constants:
        yield from constants.printed.values()
        yield from (end for ends in constants.ranges.values() for end in ends)


@pytest.mark.parametrize("seed", INVENTORY)
def test_every_formula_of_a_source_is_in_the_catalogue_and_nothing_else_is(seed: str) -> None:
    source = next(source for source in SOURCES if source.seed == seed)
    listed = sorted((section, name) for section, names in INVENTORY[seed].items() for name in names)
    assert listed == sorted((formula.section, formula.name) for formula in source.formulas)


@pytest.mark.parametrize(("source", "formula"), FORMULAS, ids=lambda case: getattr(case, "name", None))
def test_every_formula_is_implemented_typeset_and_has_a_golden_value(source: Source, formula: Formula) -> None:
    assert callable(formula.function)
    assert formula.function.__module__.startswith("scoring.")
    assert formula.tex
    assert formula.summary.endswith((".", ")")) or "=" in formula.summary or "·" in formula.summary
    doctested = ">>>" in (formula.function.__doc__ or "")
    assert formula.figures or formula.constants or formula.claims or doctested or source.seed == "ours"


@pytest.mark.parametrize(
    ("source", "formula", "figure"), FIGURES, ids=[f"{s.seed}-{f.slug}-{g.printed}" for s, f, g in FIGURES]
)
def test_a_printed_figure_is_reproduced_to_its_precision_or_stands_corrected(
    source: Source, formula: Formula, figure: Figure
) -> None:
    assert math.isfinite(figure.computed)
    assert figure.agrees == (figure.verdict == "reproduced"), f"computed {figure.computed}"


@pytest.mark.parametrize(
    ("source", "formula", "constants", "name"), CONSTANTS, ids=[f"{f.slug}-{name}" for _, f, _, name in CONSTANTS]
)
def test_a_constant_has_the_default_and_the_range_its_source_prints(
    source: Source, formula: Formula, constants: Constants, name: str
) -> None:
    declaration = constants.declared[name]
    assert isinstance(declaration, Number)
    assert declaration.default == float(constants.printed[name])
    if name in constants.ranges:
        assert (declaration.low, declaration.high) == tuple(map(float, constants.ranges[name]))


@pytest.mark.parametrize("seed", INVENTORY)
def test_every_number_a_source_prints_is_a_figure_a_constant_reported_or_explained(seed: str) -> None:
    printed = json.loads((Path(__file__).parent / "printed_numbers.json").read_text())[seed]
    source = next(source for source in SOURCES if source.seed == seed)
    accounted = printed_by(source) | {float(number) for number in NOT_FIGURES[seed]}
    missing = [
        (section, number)
        for section, numbers in printed.items()
        for number in numbers
        if float(number) not in accounted
    ]
    assert missing == []


def test_every_source_names_a_system_of_the_registry() -> None:
    assert [source.system for source in SOURCES] == list(SYSTEMS)


def test_every_claim_shows_what_the_formulas_say_instead() -> None:
    claims = [claim for _, formula in FORMULAS for claim in formula.claims]
    assert len(claims) >= 10
    for claim in claims:
        assert claim.ruling
        assert all(math.isfinite(compute()) for _, compute in claim.figures)


def test_the_errata_name_the_paper_and_the_computed_value() -> None:
    errata = {
        (formula.name, figure.printed): round(figure.computed, 4) for _, formula, figure in FIGURES if figure.ruling
    }
    assert errata["Repetition boost", "0.307"] == 0.4094
    assert errata["Repetition boost", "0.478"] == 0.5235
    assert errata["Repetition boost", "0.625"] == 0.6418
    assert errata["Repetition boost", "0.700"] == 0.7057
    assert errata["Repetition boost", "0.824"] == 0.8219
    assert errata["Access boost", "5.620"] == 5.6151
    assert errata["Access boost", "25"] == 20.2
    assert errata["Spread between ranks", "5.4"] == 5.4545
    assert errata["Spread between ranks", "1.25"] == 1.2438
    assert errata["Combined retrieval weight", "1.3045"] == 1.3047
    assert errata["Combined retrieval weight", "0.04213"] == 0.0421
