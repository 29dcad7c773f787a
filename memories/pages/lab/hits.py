"""Hits as the Lab shows them: score bars, one-sentence reasons, and rank changes against the start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.urls import reverse
from django.utils.safestring import SafeString

from memories.contracts.answer import Result
from memories.contracts.number_format import format_number, whole_days
from memories.models import Trace
from memories.pages.lab import markup
from memories.pages.lab.explanation_html import render_explanation
from memories.pages.retriever_styles import RetrieverStyle, retriever_style
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.why_not import ordinal
from scoring.term import Array, Term

EVIDENCE_LABELS = {"evidence": "evidence", "utility": "feedback", "use": "use"}  # by the factor that a score has


@dataclass(frozen=True)
class BarSegment:
    """One retriever's contribution to a score, positioned on the bar in percent."""

    style: RetrieverStyle
    value: float
    left: float
    width: float
    rank: str = ""

    @property
    def right(self) -> float:
        """Right edge, in percent."""
        return self.left + self.width


@dataclass(frozen=True)
class RankMove:
    """A hit's rank now and at the start."""

    rank: int
    before: int | None

    @property
    def up(self) -> int:
        """Ranks gained."""
        return (self.before or self.rank) - self.rank

    @property
    def down(self) -> int:
        """Ranks lost."""
        return -self.up

    @property
    def new(self) -> bool:
        """Whether it was not returned at the start."""
        return self.before is None


@dataclass
class Hit:
    """A result with its score bar, sentence, rank change and grade."""

    result: Result
    bar: SafeString
    judge: SafeString
    sentence: str
    move: RankMove
    link: str
    grade: int | None
    tree: SafeString | None = None  # loaded when it is opened


def hit_rows(
    retrieval: Retrieval,
    results: Sequence[Result],
    contributions: Mapping[str, Array],
    start_ranks: Mapping[str, int],
    grades: Mapping[UUID, int],
) -> list[Hit]:
    """The results as the Lab shows them."""
    row_of = {str(id): row for row, id in enumerate(retrieval.signals.ids)}
    ranks = {str(result.id): result.rank for result in results}
    best = max((result.score for result in results), default=0.0) or 1.0
    hits = []
    for result in results:
        row, grade = row_of[str(result.id)], grades.get(result.id)
        hits.append(
            Hit(
                result,
                bar=markup.score_bar_html(bar_segments(result, contributions, row, best), result.score),
                judge=markup.grade_buttons_html(result.id, grade, rank=result.rank),
                sentence=hit_sentence(retrieval, result, row, ranks),
                move=RankMove(result.rank, start_ranks.get(str(result.id))),
                link=reverse("memories-memory", args=[retrieval.query.namespace.slug, result.id]),
                grade=grade,
            )
        )
    return hits


def bar_segments(result: Result, contributions: Mapping[str, Array], row: int, best: float) -> list[BarSegment]:
    """Segments of a hit's bar, split by retriever; the best score fills the whole width."""
    segments, left = [], 0.0
    for retriever, values in contributions.items():
        value = float(values[row])
        width = 100 * max(value, 0.0) / best
        if width < 0.05:
            continue
        entry = result.retrievers.get(retriever)
        rank = ordinal(entry.rank) if entry else ""
        segments.append(BarSegment(retriever_style(retriever), value, left, width, rank))
        left += width
    return segments


def hit_sentence(retrieval: Retrieval, result: Result, row: int, ranks: Mapping[str, int]) -> str:
    """One sentence on why a hit has its rank; `ranks` are those of the whole answer."""
    lists = ", ".join(
        f"{ordinal(entry.rank)} by {retriever_style(retriever).name}" for retriever, entry in result.retrievers.items()
    )
    explain = result.details.get("explain")
    anchor = explain["neighbour_of"] if explain else None
    beside = f"Beside the {ordinal(ranks[str(anchor)])} in its session" if anchor else ""
    more = ", ".join(filter(None, score_factors(retrieval, row)))
    return "; ".join(filter(None, [beside, lists or ("" if beside else "In no ranked list"), more])) + "."


def score_factors(retrieval: Retrieval, row: int) -> list[str]:
    """What else shaped the score: the factors of a product, or the largest parts of a sum."""
    score, signals = retrieval.ranking.score, retrieval.signals
    if score.op == "×":
        named = {str(part.name): term_value_at(part, row) for part in score.parts}
        days = whole_days(float(signals.age_days[row]))
        old = f"{days} day{'' if days == 1 else 's'} old"
        uses = int(signals.access_count[row])
        return [
            f"{old} keeps {100 * named['freshness']:.0f} %" if "freshness" in named else "",
            f"{old} counts ×{format_number(named['age'], 2)}" if "age" in named else "",
            f"{'1 use lifts' if uses == 1 else f'{uses} uses lift'} it ×{format_number(named['access boost'], 2)}"
            if uses and "access boost" in named
            else "",
            f"confidence {format_number(float(signals.confidence[row]), 2)} counts ×{format_number(named['trust'], 2)}"
            if "trust" in named
            else "",
            *(
                f"{label} counts ×{format_number(named[factor], 2)}"
                for factor, label in EVIDENCE_LABELS.items()
                if named.get(factor, 1.0) != 1.0
            ),
        ]
    parts = sorted(((term_value_at(part, row), str(part.name)) for part in score.parts), reverse=True)
    most = [
        f"{name.removesuffix(' share').replace('_', ' ')} {format_number(value, 4)}"
        for value, name in parts[:2]
        if value > 0
    ]
    return [f"most from {' and '.join(most)}"] if most else []


def term_value_at(term: Term, row: int) -> float:
    """A term's value for one candidate; 0 if absent."""
    if term.present is not None and not term.present[row]:
        return 0.0
    return float(term.value if term.value.ndim == 0 else term.value[row])


def explanation_trees(retrieval: Retrieval, ids: Sequence[str], before: Mapping[str, Any]) -> list[SafeString]:
    """Explanation trees of some candidates; `before` holds the start values of changed parameters."""
    row_of = {str(id): row for row, id in enumerate(retrieval.signals.ids)}
    return [render_explanation(tree, before) for tree in retrieval.ranking.score.trees([row_of[id] for id in ids])]


def ranks_at_start(trace: Trace) -> dict[str, int]:
    """Ranks of the traced answer, by id."""
    return {result["id"]: result["rank"] for result in trace.answer["results"]}


def count_moves(hits: Sequence[Hit], start_ranks: Mapping[str, int]) -> dict[str, int]:
    """How many hits moved up or down, are new, or left."""
    moves = [hit.move for hit in hits]
    return {
        "up": sum(not move.new and move.up > 0 for move in moves),
        "down": sum(not move.new and move.up < 0 for move in moves),
        "new": sum(move.new for move in moves),
        "left": len(start_ranks.keys() - {str(hit.result.id) for hit in hits}),
    }


def list_status(retrieval: Retrieval, retriever: str) -> str:
    """The length of a retriever's list, or why the retriever did not run."""
    if retriever not in retrieval.query_plan.plan.retrievers:
        return "not in this plan"
    length = int(np.isfinite(retrieval.signals.rank(retriever)).sum())
    return str(length) if length or retriever in retrieval.active_retrievers else "weight 0"


def retriever_lists(retrieval: Retrieval, results: Sequence[Result], max_rows: int = 10) -> list[dict[str, Any]]:
    """The ranked list of each retriever: rank, raw score, and the memory's rank in the answer."""
    signals, now = retrieval.signals, {str(result.id): result.rank for result in results}
    lists = []
    for retriever in retrieval.query.config.system.retrievers:
        ranks = signals.rank(retriever)
        raw = signals.raw_scores(retriever)
        rows = [int(row) for row in ranks.argsort(kind="stable")[:max_rows] if ranks[row] < float("inf")]
        lists.append(
            {
                "style": retriever_style(retriever),
                "active": retriever in retrieval.active_retrievers,
                "status": list_status(retrieval, retriever),
                "rows": rows
                and markup.ranked_list_html(
                    [
                        {
                            "rank": int(ranks[row]),
                            "id": signals.ids[row],
                            "content": retrieval.candidates.rows[row]["content"],
                            "score": float(raw[row]),
                            "now": now.get(str(signals.ids[row])),
                        }
                        for row in rows
                    ]
                ),
            }
        )
    return lists
