"""Every sentence of the five sources that defines something is proven live by a test through the API or a page."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.support.source_inventory import FOLDER, TESTS, module_tests, proof_path, read_sections, source_items

ITEMS = list(source_items())
COUNTED = [item for item in ITEMS if not item.reported]
CONSTANTS = [item for item in ITEMS if item.constant is not None]
# An independent reading listed so many formulas, constants, rules and outputs.
AT_LEAST = 176
PROSE = {
    ("000", "References"),
    ("003", "What this page is for"),
    ("003", "Current implementation shape"),
    ("003", "Summary"),
}
# Tests of formulas alone prove nothing about what is served.
UNIT_TESTS = TESTS / "scoring"
PRINTED = json.loads((UNIT_TESTS / "printed_numbers.json").read_text())


@pytest.fixture(scope="module")
def registry() -> dict[str, dict[str, dict[str, Any]]]:
    """The parameters of each system and of the write policy, as the API serves them."""
    served = Client().get("/api/v1/systems/").json()
    owners = {system["name"]: system for system in served["systems"]} | {"write_policy": served["write_policy"]}
    return {owner: {one["name"]: one for one in told["parameters"]} for owner, told in owners.items()}


def test_the_inventory_is_at_least_as_fine_as_the_independent_reading() -> None:
    assert len(COUNTED) >= AT_LEAST
    assert [id for id, count in Counter(item.id for item in ITEMS).items() if count > 1] == []
    assert [item.id for item in ITEMS if not item.says.endswith(".")] == []


def test_every_section_that_prints_a_number_is_in_the_inventory() -> None:
    def first_words(heading: str) -> str:
        return heading.split("(")[0].split(" on top")[0].strip()

    for source, sections in read_sections().items():
        headings = {first_words(section) for section in sections}
        printed = {first_words(section) for section in PRINTED[source]} - {"", "References"}
        assert printed <= headings, printed - headings


def test_every_section_defines_something_but_those_of_prose() -> None:
    empty = {(source, name) for source, sections in read_sections().items() for name in sections if not sections[name]}
    assert empty == PROSE


def test_what_is_reported_is_quoted_and_has_no_proof() -> None:
    reported = [item for item in ITEMS if item.reported]
    assert reported
    assert [item.id for item in reported if item.proofs or item.constant] == []


@pytest.mark.parametrize("item", COUNTED, ids=lambda item: item.id)
def test_an_item_is_proven_by_a_test_of_what_is_served(item: Any) -> None:
    assert item.proofs
    for proof in item.proofs:
        resolved = proof_path(proof)
        assert resolved is not None, f"{proof} is not one test"
        assert UNIT_TESTS not in resolved[0].parents


@pytest.mark.parametrize("item", CONSTANTS, ids=lambda item: item.id)
def test_a_constant_is_served_with_the_default_and_range_its_source_prints(
    item: Any, registry: dict[str, dict[str, dict[str, Any]]]
) -> None:
    owner, name, default, ends = item.constant
    served = registry[owner][name]
    assert served["default"] == default
    assert ends in ((), (served["low"], served["high"]))


def test_every_test_of_the_sources_proves_an_item() -> None:
    proofs = {resolved for item in ITEMS for proof in item.proofs if (resolved := proof_path(proof))}
    tests = {(path, name) for path in sorted(FOLDER.glob("test_*.py")) for name in module_tests(path)}
    assert {f"{path.name}::{name}" for path, name in tests - proofs} == set()


def test_an_id_names_its_source() -> None:
    assert {Path(item.id.split(".")[0]).name for item in ITEMS} == {"000", "001", "002", "003", "004"}
