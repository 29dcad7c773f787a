"""Cues in the wording of a query: memory type, time window, recency."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from memories.text.dates import date_mentions
from memories.text.intervals import TimeInterval
from scoring.signals import INTENTS
from scoring.specificity import TemporalCue, TypeCue


def _any(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


EXPLICIT = _any("entit(?:y|ies)", "events?", "facts?", "preferences?", "relations?", "relationships?")
IMPLIED = _any(
    *("prefer(?:s|red)?", "likes?", "loves?", "hates?", "favou?rites?", "enjoys?", "wants?"),
    *("when", "happen(?:s|ed)?", "who", "whom", "reports? to", "works? (?:with|for)", "knows?", "married"),
)
# Vague times, in days before now.
VAGUE = {_any("recently", "lately", "these days", "nowadays", "of late"): 30, _any("a while ago", "back then"): 365}
FRESH = _any("now", "right now", "today", "tonight", "currently?", "current", "latest", "at the moment", "this morning")
BACKGROUND = _any("history", "background", "overview", "in general", "usually", "always", "over the years", "ever")


@dataclass(frozen=True)
class TimeWindow:
    """The time a query refers to, and how precisely."""

    interval: TimeInterval
    cue: TemporalCue


def type_cue(text: str) -> TypeCue:
    """How clearly a query names a memory type."""
    return "explicit" if EXPLICIT.search(text) else "implied" if IMPLIED.search(text) else "none"


def find_time_window(text: str, now: datetime) -> TimeWindow | None:
    """The first time a query names: a date is exact, “last week” relative, “recently” vague."""
    for one in date_mentions(text, now):
        return TimeWindow(one.when, "relative" if one.relative else "exact")
    for words, days in VAGUE.items():
        if words.search(text):
            return TimeWindow(TimeInterval(now - timedelta(days=days), now), "vague")
    return None


def recency_intent(text: str) -> str:
    """HIGH for queries about now, LOW for background, else MEDIUM."""
    high, medium, low = INTENTS
    return high if FRESH.search(text) else low if BACKGROUND.search(text) else medium
