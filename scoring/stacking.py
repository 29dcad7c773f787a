"""Signals of several queries in one, so that a setting is measured on all of them at once."""

from collections.abc import Sequence

import numpy as np

from scoring.diversity import Vectors
from scoring.signals import Edges, Signals
from scoring.term import Codes, Mask


def stacked(several: Sequence[Signals]) -> Signals:
    """The candidates of several queries, one batch after another; no batch is empty, and all ask with one intent."""
    lengths = np.array([len(one) for one in several])
    starts = np.cumsum(lengths) - lengths
    ids = np.concatenate([one.ids for one in several])
    columns = [name for name in Signals.columns() if name != "session"]
    vectors, vector_of = shared_vectors(several, ids)
    return Signals(
        ids=ids,
        session=sessions(several),
        ranks={
            route: np.concatenate([one.rank(route) for one in several])
            for route in dict.fromkeys(route for one in several for route in one.ranks)
        },
        scores={
            route: np.concatenate([one.raw(route) for one in several])
            for route in dict.fromkeys(route for one in several for route in one.scores)
        },
        edges=edges(several, starts),
        vectors=vectors,
        vector_of=vector_of,
        tags=tags(several),
        intent=several[0].intent,
        lengths=lengths,
        **{name: np.concatenate([getattr(one, name) for one in several]) for name in columns},
    )


def sessions(several: Sequence[Signals]) -> Codes:
    """The sessions, numbered so that no two queries share one."""
    taken, numbered = 0, []
    for one in several:
        numbered.append(np.where(one.session >= 0, one.session + taken, -1))
        taken += int(one.session.max(initial=-1)) + 1
    return np.concatenate(numbered)


def edges(several: Sequence[Signals], starts: Codes) -> Edges:
    """The edges, by the candidates' places in the whole."""
    return Edges(
        np.concatenate([one.edges.source + start for one, start in zip(several, starts, strict=True)]),
        np.concatenate([one.edges.target + start for one, start in zip(several, starts, strict=True)]),
        np.concatenate([one.edges.kind for one in several]),
        np.concatenate([one.edges.weight for one in several]),
    )


def tags(several: Sequence[Signals]) -> Mask | None:
    """The tags side by side; a column means one tag to one query and another to the next, which never meet."""
    if all(one.tags is None for one in several):
        return None
    widest = max(one.tags.shape[1] for one in several if one.tags is not None)
    whole = np.zeros((sum(map(len, several)), widest), bool)
    start = 0
    for one in several:
        if one.tags is not None:
            whole[start : start + len(one), : one.tags.shape[1]] = one.tags
        start += len(one)
    return whole


def shared_vectors(several: Sequence[Signals], ids: Codes) -> tuple[Vectors | None, Codes | None]:
    """Each memory's vector once, and where each candidate's is: the same memory answers many queries."""
    if any(one.vectors is None for one in several):
        return None, None
    _, first, place = np.unique(ids, return_index=True, return_inverse=True)
    start, parts = 0, []
    for one in several:
        inside = first[(first >= start) & (first < start + len(one))] - start
        parts.append((start + inside, one.vectors_of(inside)))
        start += len(one)
    rows, vectors = (np.concatenate(some) for some in zip(*parts, strict=True))
    where = np.empty(len(ids), np.intp)
    where[rows] = np.arange(len(rows))
    return vectors, where[first[place]]


def kept(whole: Signals, rows: Codes) -> Signals:
    """Some candidates of a stack, in their order; a batch of which none is left is gone."""
    place = np.full(len(whole), -1)
    place[rows] = np.arange(len(rows))
    within = (place[whole.edges.source] >= 0) & (place[whole.edges.target] >= 0)
    counts = np.bincount(whole.batches.of_each[rows], minlength=len(whole.batches))
    columns = Signals.columns()
    vector_of = np.arange(len(whole)) if whole.vector_of is None else whole.vector_of
    return Signals(
        ids=whole.ids[rows],
        ranks={route: ranks[rows] for route, ranks in whole.ranks.items()},
        scores={route: scores[rows] for route, scores in whole.scores.items()},
        edges=Edges(
            place[whole.edges.source[within]],
            place[whole.edges.target[within]],
            whole.edges.kind[within],
            whole.edges.weight[within],
        ),
        vectors=whole.vectors,
        vector_of=None if whole.vectors is None else vector_of[rows],
        tags=None if whole.tags is None else whole.tags[rows],
        intent=whole.intent,
        lengths=counts[counts > 0],
        places=whole.by_id[rows],
        **{name: getattr(whole, name)[rows] for name in columns},
    )
