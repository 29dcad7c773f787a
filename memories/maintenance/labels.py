"""What a cluster is called: the words that its memories have and others do not."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from uuid import UUID

from memories.models import Memory, Namespace
from memories.text.stopwords import STOP_WORDS

WORDS = 3
_WORD = re.compile(r"[^\W\d_]{3,}")


def labels_of(namespace: Namespace, clusters: Mapping[UUID, UUID]) -> dict[UUID, str]:
    """The most telling words of each cluster, from the cluster of each memory.

    A word tells the more, the more memories of the cluster have it and the fewer others: count × ln(N / n).
    """
    within: dict[UUID, Counter[str]] = defaultdict(Counter)
    everywhere: Counter[str] = Counter()
    texts = Memory.objects.within(namespace).values_list("id", "content")
    for memory, text in texts.iterator(chunk_size=5_000):
        if memory not in clusters:
            continue
        words = {word for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS}
        within[clusters[memory]].update(words)
        everywhere.update(words)
    return {cluster: label(words, everywhere, len(clusters)) for cluster, words in within.items()}


def label(words: Counter[str], everywhere: Counter[str], memories: int) -> str:
    """The most telling of some words."""

    def telling(word: str) -> tuple[float, str]:
        return -words[word] * math.log((memories + 1) / everywhere[word]), word

    return ", ".join(sorted(words, key=telling)[:WORDS])
