"""Query terms are matched within a passage of a long memory, not across it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.contracts.new_memory import NewMemory
from memories.models import Namespace
from memories.retrieval.retrieve import Retrieval, retrieve
from memories.writing.remember import remember
from scoring.fusion import split_passages
from tests.support.retrieval_world import NOW, make_query

QUERY = "When does the cello lesson begin?"
GARDEN = "The garden was quiet, the kettle sang and nobody spoke of anything in particular. " * 6
HARBOUR = "Ships waited in the fog outside of the harbour until a pilot came on board at last. " * 6
TOGETHER = f"{GARDEN}The cello lesson begins at nine. {GARDEN}{GARDEN}".strip()
APART = f"A cello. {HARBOUR}A lesson was learnt. {HARBOUR}It all begins again at nine. {HARBOUR}".strip()


@given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.integers(1, 60).map(lambda half: 2 * half))
def test_every_word_stands_in_a_passage_of_its_own_text(lengths: list[int], words: int) -> None:
    cut = split_passages(np.array(lengths, dtype=np.intp), words)
    ends = np.append(cut.halves[1:], sum(lengths))
    texts = np.repeat(np.arange(len(lengths)), np.diff(np.append(cut.starts, len(cut.first))))
    seen = set[int]()
    for text, first, second in zip(texts, cut.first, cut.second, strict=True):
        start, end = int(cut.halves[first]), int(ends[second])
        assert sum(lengths[:text]) <= start < end <= sum(lengths[: text + 1])
        assert end - start <= words
        seen |= set(range(start, end))
    assert seen == set(range(sum(lengths)))


def test_a_text_that_is_no_longer_is_one_passage() -> None:
    assert split_passages(np.array([1, 32, 33, 64]), 64).starts.tolist() == [0, 1, 2, 3]


@pytest.mark.django_db
class TestLongMemories:
    """Two memories of the same words, near each other and far apart."""

    @pytest.fixture
    def namespace(self) -> Namespace:
        namespace = Namespace.objects.create(slug="long", title="Long", clock=NOW)
        remember(namespace, [NewMemory(content=APART), NewMemory(content=TOGETHER)], by="tests")
        return namespace

    @staticmethod
    def match(retrieval: Retrieval, content: str) -> float:
        place = [row["content"] for row in retrieval.candidates.rows].index(content)
        return float(retrieval.signals.maxsim[place])

    def test_words_that_stand_together_match_better_than_the_same_far_apart(self, namespace: Namespace) -> None:
        found = retrieve(make_query(namespace, QUERY, "blend"))
        assert self.match(found, TOGETHER) > self.match(found, APART) + 0.1

    def test_with_a_wide_window_they_differ_less(self, namespace: Namespace) -> None:
        near, wide = (
            retrieve(make_query(namespace, QUERY, "blend", params={"maxsim_window": words})) for words in (64, 512)
        )
        gaps = [self.match(one, TOGETHER) - self.match(one, APART) for one in (near, wide)]
        assert gaps[0] > gaps[1]
