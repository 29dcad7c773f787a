"""Identifiers sort by time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import RFC_4122, UUID, uuid4

import pytest

from memories.db import ids
from memories.db.ids import derived_id, first_id_at, id_timestamp, replay_ids, uuid7


def test_identifiers_are_version_seven_of_the_rfc() -> None:
    made = uuid7()
    assert made.version == 7
    assert made.variant == RFC_4122


def test_identifiers_of_one_process_rise_strictly() -> None:
    made = [uuid7() for _ in range(20_000)]
    assert made == sorted(set(made))


def test_identifiers_made_in_many_threads_differ() -> None:
    with ThreadPoolExecutor(4) as pool:
        made = [one for many in pool.map(lambda _: [uuid7() for _ in range(2_000)], range(4)) for one in many]
    assert len(set(made)) == len(made)


def test_identifiers_still_rise_when_the_clock_steps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = uuid7()
    monkeypatch.setattr(ids.time, "time_ns", lambda: 0)
    assert uuid7() > before


def test_an_identifier_tells_when_it_was_made() -> None:
    earliest = datetime.now(UTC) - timedelta(milliseconds=1)
    made = id_timestamp(uuid7())
    # Within a millisecond ids may run ahead of the clock, by their random steps, never by more than a few.
    assert earliest <= made <= datetime.now(UTC) + timedelta(milliseconds=50)


def test_the_example_of_the_rfc_is_read() -> None:
    example = UUID("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")
    assert id_timestamp(example) == datetime(2022, 2, 22, 19, 22, 22, tzinfo=UTC)


def test_only_version_seven_tells_a_time() -> None:
    with pytest.raises(ValueError, match="is version 4"):
        id_timestamp(uuid4())


def test_a_timestamp_bounds_the_identifiers_made_at_it() -> None:
    moment = datetime(2026, 3, 2, 12, tzinfo=UTC)
    first, tick = first_id_at(moment), timedelta(milliseconds=1)
    assert id_timestamp(first) == moment
    assert first_id_at(moment - tick) < first < first_id_at(moment + tick)
    made = uuid7()
    assert first_id_at(id_timestamp(made)) <= made < first_id_at(id_timestamp(made) + tick)


def test_a_derived_identifier_carries_its_timestamp_and_depends_on_the_name_alone() -> None:
    moment = datetime(2025, 12, 2, 12, tzinfo=UTC)
    made = derived_id(moment, "memory a")
    assert (made.version, id_timestamp(made)) == (7, moment)
    assert made == derived_id(moment, "memory a") != derived_id(moment, "memory b")


def test_a_past_timestamp_repeated_gives_the_same_identifiers_and_they_rise() -> None:
    moment = datetime(2025, 12, 2, 12, tzinfo=UTC)
    with replay_ids(moment, "planning"):
        first = [uuid7() for _ in range(5_000)]
    with replay_ids(moment, "planning"):
        assert [uuid7() for _ in range(5_000)] == first
    assert first == sorted(set(first))
    assert {(made.version, made.variant, id_timestamp(made)) for made in first} == {(7, RFC_4122, moment)}


def test_two_histories_of_one_timestamp_share_no_identifier() -> None:
    moment, made = datetime(2025, 12, 2, 12, tzinfo=UTC), []
    for name in ("planning", "lunch"):
        with replay_ids(moment, name):
            made += [uuid7() for _ in range(1_000)]
    assert len(set(made)) == len(made)


def test_only_who_tells_the_past_makes_its_identifiers() -> None:
    moment = datetime(2025, 12, 2, 12, tzinfo=UTC)
    with replay_ids(moment, "planning"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(uuid7).result() > uuid7()
    assert id_timestamp(uuid7()) > moment
