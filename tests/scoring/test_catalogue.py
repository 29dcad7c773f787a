"""The catalogue has every formula and every number the five sources print."""

import importlib
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from scoring.catalogue import SOURCES
from scoring.catalogue.entry import CatalogueSource, Constants, Formula, PrintedValue
from scoring.params import Number
from scoring.systems import SYSTEMS

PRINTED = json.loads((Path(__file__).parent / "printed_numbers.json").read_text())
FORMULAS = [(source, formula) for source in SOURCES for formula in source.formulas]
PRINTED_VALUES = [(source, formula, value) for source, formula in FORMULAS for value in formula.printed_values]
CONSTANTS = [
    (source, formula, constants, name)
    for source, formula in FORMULAS
    for constants in formula.constants
    for name in constants.printed
]

# What each source defines, in the order of its text: section, and its formulas in the catalogue.
INVENTORY = {
    "000": {
        "Notation": ["Temporal proximity", "Distance to a window"],
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
        "Reciprocal Rank Fusion": ["Reciprocal rank fusion", "Entity score"],
        "The formula": ["Rank in a list"],
        "Why k=60": ["Spread between ranks"],
        "BM25 Scoring": ["BM25", "Inverse document frequency", "Term saturation"],
        "Hop score decay": ["Hop score"],
        "Path confidence: MIN not product": ["Path confidence", "Traversal score"],
        "Deduplication Math": [
            *("Hash deduplication", "Cosine deduplication", "Merging without a judge", "Restatement"),
            *("Contradictory signals", "Contradiction", "Merge"),
        ],
        "Diversity: Maximal Marginal Relevance": ["Maximal marginal relevance"],
        "Query Specificity": ["Query specificity", "Entity density", "Lexical rarity", "Plan"],
        "Grounding confidence penalty": ["Grounding penalty"],
        "Faithfulness score": ["Faithfulness", "Risk"],
        "Layered escape rate": ["Escape rate"],
        "All Thresholds in One Place": ["Consolidation", "Summary", "Concept drift", "Index recall alert"],
        "The calibration dataset": ["Cohen's kappa", "Validity gate"],
        "RRF k=60": ["Smoothing sweep"],
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
        "Retrieval pipeline": ["Neighbour expansion"],
    },
    "004": {
        "The formula": ["Composite score"],
        "Score dimensions": ["Utility"],
        "Recency decay": ["Recency decay", "Half-life of a rate"],
        "Provenance attenuation": ["Provenance attenuation"],
        "Expiry-aware scoring": ["Expiry"],
    },
}

# Formulas whose result is not a single number; the named tests have their golden values.
GOLDEN_ELSEWHERE = {
    "Answer probability": "test_it_abstains_when_only_another_entity_has_the_answer",
    "Variance floor tiebreak": "test_a_flat_batch_of_memorysync_falls_back_to_its_chain_and_says_so",
    "Edge boosts": "test_the_largest_edge_boost_reaches_a_memory_once_and_only_as_deep_as_allowed",
    "Personalisation and session": "test_affinity_and_session_add_what_the_source_says",
    "Adaptive weights": "test_an_emphasis_lifts_its_factor_and_the_weights_still_add_up_to_one",
    "Plan": "test_plans_are_tried_in_the_papers_order",
    "Recalibration triggers": "test_recalibration_puts_the_preference_prior_first",
    "Composite score": "test_the_composite_score_is_the_weighted_sum_of_its_dimensions",
    "Final score": "test_a_session_of_memsense_is_supported_by_its_best_turn_up_to_the_cap",
    "Neighbour expansion": "test_selected_chunks_bring_the_ones_beside_them_after_the_selection",
    "Selection": "test_mmr_picks_what_the_naive_loop_picks",
    "Fused score": "test_blend_fuses_reranks_and_weighs_as_it_says",
    "Blend": "test_blend_fuses_reranks_and_weighs_as_it_says",
    "Bounded factors": "test_evidence_feedback_and_accesses_move_a_score_of_blend_within_their_amplitudes",
}


def test_every_golden_value_kept_elsewhere_exists() -> None:
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in GOLDEN_ELSEWHERE.values() if f"def {name}(" not in tests] == []


# Printed numbers that no formula gives: years, inputs of an example, steps of a derivation.
NOT_PRINTED_VALUES = {
    "000": {
        "2009": "a year", "2024": "a year", "2025": "a year", "1998": "a year", "3.5": "a model's name",
        "100": "an input: the 100th observation, 100 accesses", "1000": "an input: 1,000 accesses",
        "11": "a denominator, 10 + 1", "61": "a denominator, 60 + 1", "63": "a denominator, 60 + 3",
        "110": "a denominator, 60 + 50", "201": "a denominator, 200 + 1", "250": "a denominator, 200 + 50",
        "9": "the number of a step", "2": "a base, a count", "1": "a rank, a count", "3": "a rank, a count",
        "4": "a place, a count",
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


def numbers_of(formula: Formula) -> Iterator[str]:
    yield from (value.printed for value in formula.printed_values)
    for constants in formula.constants:
        yield from constants.printed.values()
        yield from (end for ends in constants.ranges.values() for end in ends)


@pytest.mark.parametrize("number", INVENTORY)
def test_every_formula_of_a_source_is_in_the_catalogue_and_nothing_else_is(number: str) -> None:
    source = next(source for source in SOURCES if source.number == number)
    listed = sorted((section, name) for section, names in INVENTORY[number].items() for name in names)
    assert listed == sorted((formula.section, formula.name) for formula in source.formulas)


@pytest.mark.parametrize(("source", "formula"), FORMULAS, ids=lambda case: getattr(case, "name", None))
def test_every_formula_is_implemented_typeset_and_has_a_golden_value(source: CatalogueSource, formula: Formula) -> None:
    assert callable(formula.function)
    assert formula.function.__module__.startswith("scoring.")
    assert formula.tex
    assert formula.summary.endswith((".", ")")) or "=" in formula.summary or "·" in formula.summary
    doctested = ">>>" in (formula.function.__doc__ or "")
    assert formula.printed_values or doctested or formula.name in GOLDEN_ELSEWHERE


@pytest.mark.parametrize(
    ("source", "formula", "value"),
    PRINTED_VALUES,
    ids=[f"{s.number}-{f.slug}-{g.printed}" for s, f, g in PRINTED_VALUES],
)
def test_a_printed_value_is_reproduced_at_its_precision_or_corrected(
    source: CatalogueSource, formula: Formula, value: PrintedValue
) -> None:
    assert math.isfinite(value.computed)
    assert value.agrees == (not value.ruling), f"computed {value.computed}"


@pytest.mark.parametrize(
    "source", [source for source in SOURCES if source.number != "ours"], ids=lambda one: one.system
)
def test_a_value_marked_as_printed_is_printed(source: CatalogueSource) -> None:
    printed = {float(number) for section in PRINTED[source.number].values() for number in section["numbers"]}
    values = [value for formula in source.formulas for value in formula.printed_values if not value.derived]
    assert [value.printed for value in values if float(value.printed) not in printed] == []


@pytest.mark.parametrize("source", [source for source in SOURCES if source.presets], ids=lambda one: one.system)
def test_a_preset_is_what_its_source_prints(source: CatalogueSource) -> None:
    shipped = SYSTEMS[source.system].presets
    for name, values in source.presets.items():
        assert shipped[name] == {key: float(value) for key, value in values.items()}


@pytest.mark.parametrize(
    ("source", "formula", "constants", "name"), CONSTANTS, ids=[f"{f.slug}-{name}" for _, f, _, name in CONSTANTS]
)
def test_a_constant_has_the_default_and_the_range_its_source_prints(
    source: CatalogueSource, formula: Formula, constants: Constants, name: str
) -> None:
    declaration = constants.declarations[name]
    assert isinstance(declaration, Number)
    assert declaration.default == float(constants.printed[name])
    if name in constants.ranges:
        assert (declaration.low, declaration.high) == tuple(map(float, constants.ranges[name]))


SECTIONS = [(number, section) for number, sections in PRINTED.items() for section in sections]


@pytest.mark.parametrize(("number", "section"), SECTIONS, ids=[f"{number}-{section}" for number, section in SECTIONS])
def test_every_number_a_section_prints_is_accounted_for(number: str, section: str) -> None:
    source = next(source for source in SOURCES if source.number == number)
    accounted = set(map(float, NOT_PRINTED_VALUES[number])).union(
        *(numbers_by(source, name) for name in PRINTED[number][section]["by"])
    )
    # Small integers are ranks, counts and range bounds everywhere.
    printed = [text for text in PRINTED[number][section]["numbers"] if "." in text or float(text) > 10]
    assert [text for text in printed if float(text) not in accounted] == []


def numbers_by(source: CatalogueSource, name: str) -> set[float]:
    """Numbers accounted for by a formula, a reported result or the presets of a source."""
    if name == "presets":
        return {float(number) for preset in source.presets.values() for number in preset.values()}
    if name.startswith("reported: "):
        reported = [one.values.values() for one in source.reported if one.section == name.removeprefix("reported: ")]
        return {float(number) for numbers in reported for number in numbers}
    return {float(number) for formula in source.formulas if formula.name == name for number in numbers_of(formula)}


def test_every_source_names_a_system_of_the_registry() -> None:
    assert [source.system for source in SOURCES] == list(SYSTEMS)


def test_every_claim_shows_what_the_formulas_say_instead() -> None:
    claims = [claim for _, formula in FORMULAS for claim in formula.claims]
    assert len(claims) >= 10
    for claim in claims:
        assert claim.ruling
        assert all(math.isfinite(compute()) for _, compute in claim.values)


def test_the_errata_name_the_paper_and_the_computed_value() -> None:
    errata = {
        (formula.name, figure.printed): round(figure.computed, 4)
        for _, formula, figure in PRINTED_VALUES
        if figure.ruling
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


# Decisions where a source is silent or contradicts itself: what, and where it is implemented.
RULINGS = {
    "a memory without a source level": "scoring.policy:WritePolicyParams.source_default",
    "r(n) counts re-observations": "scoring.confidence:repetition",
    "the mean of token probabilities": "scoring.confidence:extractor_confidence",
    "the model table by name": "scoring.confidence:extractor_class",
    "an unknown type": "scoring.policy:WritePolicyParams.prior_unknown",
    "confirmation": "scoring.evidence:confirm_evidence",
    "merge": "scoring.evidence:merge_evidence",
    "high confidence": "scoring.policy:WritePolicyParams.high_confidence",
    "normalize": "scoring.dedup:normalize",
    "contradiction before merge": "scoring.contradiction:conflicts",
    "what hides is certain": "scoring.contradiction:contradicts",
    "what merges says the same": "scoring.contradiction:restates",
    "words decide beside the cosine": "scoring.dedup:merge_band",
    "thresholds belong to an embedder": "scoring.policy:with_shipped_thresholds",
    "rejection": "scoring.systems.recall:rejection_reason",
    "unresolved subject": "scoring.dedup:fallback_subject",
    "risk in order": "scoring.faithfulness:risk",
    "consolidation": "scoring.dedup:consolidation_groups",
    "drift window": "scoring.policy:WritePolicyParams.drift_window",
    "mention against subject": "scoring.graph:entity_score",
    "temporal window": "scoring.freshness:window_distance",
    "temporal floor": "scoring.systems.recall:RecallParams.temporal_floor",
    "best path": "scoring.graph:traverse",
    "equal scores": "scoring.fusion:retriever_ranks",
    "relevance of mmr": "scoring.systems.recall:RecallParams.mmr_relevance",
    "plans in order": "scoring.specificity:plan_for",
    "the caller wins over the plan": "scoring.specificity:params_for_plan",
    "confidence gate": "scoring.systems.recall:RecallParams.confidence_gate",
    "index alert": "scoring.calibration:index_alert",
    "kappa gate": "scoring.calibration:kappa_suffices",
    "k sweep": "scoring.calibration:k_sweep",
    "prior logistic": "scoring.calibration:type_prior",
    "direct share": "scoring.policy:WritePolicyParams.direct_share",
    "emphasis": "scoring.systems.memorysync:EMPHASISED_FACTOR",
    "twenty most used": "scoring.systems.memorysync:MemorysyncParams.affinity_top",
    "traversal depth": "scoring.systems.memorysync:MemorysyncParams.traversal_depth",
    "contradiction ceiling": "scoring.policy:WritePolicyParams.contradiction_high",
    "neighbours": "scoring.systems.memsense:with_neighbours",
    "sessions first": "scoring.systems.memsense:has_sessions",
    "rate by query or kind": "scoring.systems.contextdb:ContextdbParams.alpha_by",
    "utility": "scoring.confidence:utility",
    "expired or not yet valid": "scoring.systems.system:validity_gates",
    "convex fusion": "scoring.systems.blend:blend_fusion",
    "equal scores of a list": "scoring.systems.blend:scale_scores",
    "idf-weighted MaxSim": "scoring.fusion:maxsim",
    "bounded factors": "scoring.systems.blend:bounded_factor",
    "previous turn": "scoring.systems.blend:BlendParams.weight_context",
    "abstention": "scoring.systems.blend:answer_probability",
}


@pytest.mark.parametrize("ruling", RULINGS)
def test_every_ruling_of_ours_is_decided_in_one_named_place(ruling: str) -> None:
    module, _, path = RULINGS[ruling].partition(":")
    place = importlib.import_module(module)
    for name in path.split("."):
        place = getattr(place, name)
    owner = getattr(importlib.import_module(module), path.split(".")[0])
    if "." in path:
        assert path.split(".")[1] in owner.declarations()
