"""The tables of thresholds: the paper's is as printed, and every row is a declared number of the catalogue."""

import pytest

from scoring.catalogue.thresholds import PRINTED_TABLE, THRESHOLD_TABLES, Threshold
from scoring.policy import WritePolicyParams
from scoring.systems import SYSTEMS

# Source 000, “All Thresholds in One Place”, as printed.
PRINTED = """
RRF k | 60 | 10–200 | Retrieval fusion
Cosine dedupe (duplicate) | 0.92 | 0.85–0.98 | Write dedup tier 2
Cosine dedupe (escalate) | 0.85 | 0.75–0.92 | Write dedup tier 2
Consolidation similarity | 0.75 | 0.60–0.85 | Background consolidation
Concept drift distance | 0.4 | 0.2–0.6 | Drift detection
Concept drift relation overlap | 0.5 | 0.3–0.7 | Drift detection
Confidence floor (grounding) | 0.3 | 0.1–0.5 | Grounding verdict
Confidence cap (confirmation) | 0.99 | — | Confirmation update
Freshness floor | 0.1 | 0.0–0.3 | Retrieval weight
Specificity precise threshold | 0.8 | 0.7–0.9 | Query optimizer
Specificity exploratory threshold | 0.4 | 0.3–0.5 | Query optimizer
Entity confidence (entity-centric plan) | 0.85 | 0.7–0.9 | Query optimizer
MMR λ | 0.7 | 0.5–0.9 | Diversity reranking
HNSW recall@10 alert | 0.95 | 0.90–0.99 | Index monitoring
Min confidence (retrieval filter) | 0.5 | 0.3–0.8 | Retrieval policies
"""
EVERY = [threshold for table in THRESHOLD_TABLES for threshold in table.thresholds]


def test_the_printed_table_is_the_papers_row_by_row() -> None:
    rows = [tuple(map(str.strip, line.split("|"))) for line in PRINTED.strip().splitlines()]
    assert [
        (row.name, row.printed_default, "–".join(row.printed_range or "—"), row.used_in)
        for row in PRINTED_TABLE.thresholds
    ] == rows


@pytest.mark.parametrize("threshold", PRINTED_TABLE.thresholds, ids=lambda row: row.param)
def test_what_is_printed_is_what_is_declared(threshold: Threshold) -> None:
    declaration = threshold.declaration
    assert declaration.default == float(threshold.printed_default)
    assert declaration.source == "000 All Thresholds in One Place"
    if threshold.printed_range:
        assert (declaration.low, declaration.high) == tuple(map(float, threshold.printed_range))


@pytest.mark.parametrize("threshold", EVERY, ids=lambda row: row.param)
def test_every_row_has_a_title_and_a_use(threshold: Threshold) -> None:
    assert threshold.title
    assert threshold.use


def test_each_table_holds_parameters_of_its_system_or_of_the_write_policy_once() -> None:
    assert {table.system for table in THRESHOLD_TABLES} == set(SYSTEMS)
    for table in THRESHOLD_TABLES:
        assert {row.params for row in table.thresholds} <= {WritePolicyParams, SYSTEMS[table.system].params}
    rows = [(table.system, row.params, row.param) for table in THRESHOLD_TABLES for row in table.thresholds]
    policy = [row[2] for row in rows if row[1] is WritePolicyParams]
    assert len(rows) == len(set(rows))
    assert len(policy) == len(set(policy))
