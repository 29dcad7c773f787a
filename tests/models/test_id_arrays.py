"""Many ids as one array."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from memories.db.id_arrays import format_ids, id_array, to_uuids, unite_ids

# Of which many share one half.
HALF = st.sampled_from([0, 1, 2**32, 2**63, 2**64 - 1])
SOME = st.lists(st.builds(lambda head, tail: UUID(int=head << 64 | tail), HALF, HALF) | st.uuids(), unique=True)


@given(SOME)
def test_an_array_holds_its_ids(ids: list[UUID]) -> None:
    assert to_uuids(id_array(ids)) == ids
    assert format_ids(id_array(ids)).tolist() == [str(id) for id in ids]


@given(st.lists(SOME, max_size=5))
def test_united_each_stands_once_in_order_and_every_array_knows_where(several: list[list[UUID]]) -> None:
    whole, places = unite_ids([id_array(ids) for ids in several])
    found = to_uuids(whole)
    assert found == sorted({id for ids in several for id in ids})
    assert [[found[place] for place in some] for some in places] == several
