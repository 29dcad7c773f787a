"""Stack the signals of several queries, so that a configuration is evaluated on all of them at once."""

from collections.abc import Sequence

import numpy as np

from scoring.diversity import Vectors
from scoring.signals import Edges, Signals
from scoring.term import Codes, Mask


def stack_signals(signals_by_query: Sequence[Signals]) -> Signals:
    """Concatenate the candidates of several queries; no batch may be empty.

    All must share the features of the query that the system reads: intent and emphasis.
    """
    lengths = np.array([len(signals) for signals in signals_by_query])
    starts = np.cumsum(lengths) - lengths
    ids = np.concatenate([signals.ids for signals in signals_by_query])
    columns = [name for name in Signals.columns() if name != "session"]
    vectors, vector_rows = stack_vectors(signals_by_query, ids)
    return Signals(
        ids=ids,
        session=stack_sessions(signals_by_query),
        ranks={
            retriever: np.concatenate([signals.rank(retriever) for signals in signals_by_query])
            for retriever in dict.fromkeys(retriever for signals in signals_by_query for retriever in signals.ranks)
        },
        scores={
            retriever: np.concatenate([signals.raw_scores(retriever) for signals in signals_by_query])
            for retriever in dict.fromkeys(retriever for signals in signals_by_query for retriever in signals.scores)
        },
        edges=stack_edges(signals_by_query, starts),
        vectors=vectors,
        vector_rows=vector_rows,
        tags=stack_tags(signals_by_query),
        intent=signals_by_query[0].intent,
        emphasis=signals_by_query[0].emphasis,
        lengths=lengths,
        **{name: np.concatenate([getattr(signals, name) for signals in signals_by_query]) for name in columns},
    )


def stack_sessions(signals_by_query: Sequence[Signals]) -> Codes:
    """Session numbers, offset so that no two queries share one."""
    offset, parts = 0, []
    for signals in signals_by_query:
        parts.append(np.where(signals.session >= 0, signals.session + offset, -1))
        offset += int(signals.session.max(initial=-1)) + 1
    return np.concatenate(parts)


def stack_edges(signals_by_query: Sequence[Signals], starts: Codes) -> Edges:
    """The edges, by row in the stack."""
    return Edges(
        np.concatenate([signals.edges.source + start for signals, start in zip(signals_by_query, starts, strict=True)]),
        np.concatenate([signals.edges.target + start for signals, start in zip(signals_by_query, starts, strict=True)]),
        np.concatenate([signals.edges.kind for signals in signals_by_query]),
        np.concatenate([signals.edges.weight for signals in signals_by_query]),
    )


def stack_tags(signals_by_query: Sequence[Signals]) -> Mask | None:
    """The tag columns, padded to equal width; a column may mean another tag in each query, as batches never mix."""
    if all(signals.tags is None for signals in signals_by_query):
        return None
    width = max(signals.tags.shape[1] for signals in signals_by_query if signals.tags is not None)
    stack = np.zeros((sum(map(len, signals_by_query)), width), bool)
    start = 0
    for signals in signals_by_query:
        if signals.tags is not None:
            stack[start : start + len(signals), : signals.tags.shape[1]] = signals.tags
        start += len(signals)
    return stack


def stack_vectors(signals_by_query: Sequence[Signals], ids: Codes) -> tuple[Vectors | None, Codes | None]:
    """Each memory's vector once, and its row for each candidate: the same memory is a candidate of many queries."""
    if any(signals.vectors is None for signals in signals_by_query):
        return None, None
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    start, parts = 0, []
    for signals in signals_by_query:
        inside = first[(first >= start) & (first < start + len(signals))] - start
        parts.append((start + inside, signals.vectors_of(inside)))
        start += len(signals)
    rows, vectors = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    index = np.empty(len(ids), np.intp)
    index[rows] = np.arange(len(rows))
    return vectors, index[first[inverse]]


def select_candidates(stack: Signals, rows: Codes) -> Signals:
    """A subset of a stack's candidates; batches without any are dropped."""
    new_row = np.full(len(stack), -1)
    new_row[rows] = np.arange(len(rows))
    within = (new_row[stack.edges.source] >= 0) & (new_row[stack.edges.target] >= 0)
    counts = np.bincount(stack.batches.batch_index[rows], minlength=len(stack.batches))
    columns = Signals.columns()
    vector_rows = np.arange(len(stack)) if stack.vector_rows is None else stack.vector_rows
    return Signals(
        ids=stack.ids[rows],
        ranks={retriever: ranks[rows] for retriever, ranks in stack.ranks.items()},
        scores={retriever: scores[rows] for retriever, scores in stack.scores.items()},
        edges=Edges(
            new_row[stack.edges.source[within]],
            new_row[stack.edges.target[within]],
            stack.edges.kind[within],
            stack.edges.weight[within],
        ),
        vectors=stack.vectors,
        vector_rows=None if stack.vectors is None else vector_rows[rows],
        tags=None if stack.tags is None else stack.tags[rows],
        intent=stack.intent,
        emphasis=stack.emphasis,
        lengths=counts[counts > 0],
        sort_keys=stack.id_ranks[rows],
        **{name: getattr(stack, name)[rows] for name in columns},
    )
