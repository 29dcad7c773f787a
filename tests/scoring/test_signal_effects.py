"""Which stored signals a system reads, computed from its score and gates."""

from dataclasses import replace

import numpy as np
import pytest

from scoring.params import Params
from scoring.signal_effects import SignalEffect, signal_effects
from scoring.signals import Signals
from scoring.systems import SYSTEMS
from scoring.systems.blend import BlendParams
from tests.support.scoring_inputs import batch


def effects_of(name: str, params: Params | None = None) -> dict[str, SignalEffect]:
    return {effect.name: effect for effect in signal_effects(name, params or SYSTEMS[name].params())}


def test_an_amplitude_of_blend_is_the_spread_of_its_factor() -> None:
    effects = effects_of("blend", BlendParams(belief=0.3, use=0.0, trust=0.0))
    assert (effects["belief"].lowest, effects["belief"].highest) == pytest.approx((0.85, 1.15))
    assert not effects["access_count"].is_read
    assert not effects["confidence"].is_read


def test_a_gate_reads_what_it_filters_by() -> None:
    closed, opened = effects_of("blend", BlendParams(confidence_gate=True)), effects_of("blend")
    assert (closed["confidence"].filters, opened["confidence"].filters) == (True, False)
    assert opened["hours_left"].filters


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_signal_said_not_to_be_read_changes_no_score_and_no_gate(name: str) -> None:
    system, signals, rng = SYSTEMS[name], batch(40), np.random.default_rng(7)
    unread = {effect.name for effect in effects_of(name).values() if not effect.is_read}
    if name == "memsense":  # whose stored score takes the confidence's place
        assert not unread & {"confidence", "memory_score"}
    shuffled = {column: rng.permutation(getattr(signals, column)) for column in unread}
    other = replace(signals, **shuffled)
    params = system.params()
    np.testing.assert_array_equal(system.score(signals, params).value, system.score(other, params).value)
    for gate, passed in system.gates(signals, params).items():
        np.testing.assert_array_equal(passed, system.gates(other, params)[gate])


def test_every_stored_number_of_a_memory_is_tried() -> None:
    spans = Signals.stored_spans()
    assert spans.keys() >= {"confidence", "belief", "useful", "not_useful", "access_count", "age_days", "importance"}
    assert all(low < high for low, high in spans.values())
