"""The ranking as it is shown: bars, sentences, and how far each hit moved against the start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.safestring import SafeString

from memories.pages.lab import markup
from memories.pages.lab.routes import Look, look
from memories.pages.lab.tree import explained
from memories.retrieval.context import whole_days
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.why_not import ordinal
from memories.templatetags.numbers import figure
from scoring.term import Array, Term


@dataclass(frozen=True)
class Segment:
    """What one list brought to a score, and where that lies on the bar, in percent."""

    look: Look
    value: float
    left: float
    width: float
    rank: str = ""

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.left + self.width


@dataclass(frozen=True)
class Move:
    """Where a hit stands against the start."""

    rank: int
    before: int | None

    @property
    def up(self) -> int:
        """How many places it rose."""
        return (self.before or self.rank) - self.rank

    @property
    def down(self) -> int:
        """How many places it fell."""
        return -self.up

    @property
    def new(self) -> bool:
        """Whether it was not there at the start."""
        return self.before is None


def hits(
    retrieval: Retrieval,
    results: Sequence[Mapping[str, Any]],
    brought: Mapping[str, Array],
    start: Mapping[str, int],
    grades: Mapping[UUID, int],
) -> list[dict[str, Any]]:
    """Every result with its bar, its sentence, its move and its grade."""
    place = {str(id): row for row, id in enumerate(retrieval.signals.ids)}
    best = max((one["score"] for one in results), default=0.0) or 1.0
    shown = []
    for one in results:
        row = place[str(one["id"])]
        shown.append(
            {
                **one,
                "bar": markup.bar(segments(one, brought, row, best), one["score"]),
                "judge": markup.judge(one["id"], grades.get(one["id"]), rank=one["rank"]),
                "sentence": sentence(retrieval, one, row),
                "move": Move(one["rank"], start.get(str(one["id"]))),
                "link": reverse("memories-memory", args=[retrieval.query.namespace.slug, one["id"]]),
                "grade": grades.get(one["id"]),
            }
        )
    return shown


def segments(one: Mapping[str, Any], parts: Mapping[str, Array], row: int, best: float) -> list[Segment]:
    """The bar of a hit: as long as its score is against the best, parted by who brought it."""
    found, left = [], 0.0
    for route, values in parts.items():
        value = float(values[row])
        width = 100 * max(value, 0.0) / best
        if width < 0.05:
            continue
        listed = one["retrievers"].get(route)
        found.append(Segment(look(route), value, left, width, ordinal(listed["rank"]) if listed else ""))
        left += width
    return found


def sentence(retrieval: Retrieval, one: Mapping[str, Any], row: int) -> str:
    """Why a hit stands where it does, in words."""
    ranks = ", ".join(f"{ordinal(listed['rank'])} by {look(route).name}" for route, listed in one["retrievers"].items())
    more = ", ".join(filter(None, factors(retrieval, row)))
    return "; ".join(filter(None, [ranks or "In no list itself", more])) + "."


def factors(retrieval: Retrieval, row: int) -> list[str]:
    """What else moved the score: factors where it is a product, the largest parts where it is a sum."""
    score, signals = retrieval.ranking.score, retrieval.signals
    if score.op == "×":
        named = {str(part.name): value_of(part, row) for part in score.parts}
        days = whole_days(float(signals.age_days[row]))
        old = f"{days} day{'' if days == 1 else 's'} old"
        uses = int(signals.access_count[row])
        return [
            f"{old} keeps {100 * named['freshness']:.0f} %" if "freshness" in named else "",
            f"{old} counts ×{figure(named['age'], 2)}" if "age" in named else "",
            f"{'1 use lifts' if uses == 1 else f'{uses} uses lift'} it ×{figure(named['access boost'], 2)}"
            if uses and "access boost" in named
            else "",
            f"confidence {figure(float(signals.confidence[row]), 2)} counts ×{figure(named['trust'], 2)}"
            if "trust" in named
            else "",
            f"evidence counts ×{figure(named['evidence'], 2)}" if "evidence" in named else "",
        ]
    parts = sorted(((value_of(part, row), str(part.name)) for part in score.parts), reverse=True)
    most = [
        f"{name.removesuffix(' share').replace('_', ' ')} {figure(value, 4)}" for value, name in parts[:2] if value > 0
    ]
    return [f"most from {' and '.join(most)}"] if most else []


def value_of(term: Term, row: int) -> float:
    """A term's value for one candidate; nothing where it is absent."""
    if term.present is not None and not term.present[row]:
        return 0.0
    return float(term.value if term.value.ndim == 0 else term.value[row])


def trees(retrieval: Retrieval, shown: Sequence[Mapping[str, Any]], was: Mapping[str, Any]) -> dict[UUID, SafeString]:
    """The explanations of some hits; `was` holds what the moved parameters were before."""
    place = {str(id): row for row, id in enumerate(retrieval.signals.ids)}
    grown = retrieval.ranking.score.trees([place[str(one["id"])] for one in shown])
    return {one["id"]: explained(tree, was) for one, tree in zip(shown, grown, strict=True)}


def start_of(answer: Mapping[str, Any]) -> dict[str, int]:
    """Where everything stood when it was asked."""
    return {one["id"]: one["rank"] for one in answer["results"]}


def against(shown: Sequence[Mapping[str, Any]], start: Mapping[str, int]) -> dict[str, int]:
    """How many rose, fell, came and left."""
    moves = [one["move"] for one in shown]
    return {
        "up": sum(not move.new and move.up > 0 for move in moves),
        "down": sum(not move.new and move.up < 0 for move in moves),
        "new": sum(move.new for move in moves),
        "left": len(start.keys() - {str(one["id"]) for one in shown}),
    }


def lists(retrieval: Retrieval, results: Sequence[Mapping[str, Any]], longest: int = 10) -> list[dict[str, Any]]:
    """The ranked list of each route: place, own score, and where the memory stands in the answer."""
    signals, now = retrieval.signals, {str(one["id"]): one["rank"] for one in results}
    found = []
    for route in retrieval.query.setting.system.routes:
        ranks = signals.rank(route)
        raw = signals.raw(route)
        rows = [int(row) for row in ranks.argsort(kind="stable")[:longest] if ranks[row] < float("inf")]
        found.append(
            {
                "look": look(route),
                "asked": route in retrieval.planning.plan.retrievers,
                "count": int((ranks < float("inf")).sum()),
                "rows": rows
                and markup.listed(
                    [
                        {
                            "rank": int(ranks[row]),
                            "id": signals.ids[row],
                            "content": retrieval.batch.rows[row]["content"],
                            "score": float(raw[row]),
                            "now": now.get(str(signals.ids[row])),
                        }
                        for row in rows
                    ]
                ),
            }
        )
    return found
