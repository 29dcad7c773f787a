"""What the wording of a query gives away: the kind of memory it wants, the time it means, how fresh it must be."""

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
# Words for a time that nobody can date, and how many days before now they mean.
VAGUE = {_any("recently", "lately", "these days", "nowadays", "of late"): 30, _any("a while ago", "back then"): 365}
FRESH = _any("now", "right now", "today", "tonight", "currently?", "current", "latest", "at the moment", "this morning")
BACKGROUND = _any("history", "background", "overview", "in general", "usually", "always", "over the years", "ever")


@dataclass(frozen=True)
class TimeWindow:
    """The time that a query means, and how exactly it says so."""

    interval: TimeInterval
    cue: TemporalCue


def type_cue(text: str) -> TypeCue:
    """How clearly a query says which type of memory it wants."""
    return "explicit" if EXPLICIT.search(text) else "implied" if IMPLIED.search(text) else "none"


def find_time_window(text: str, now: datetime) -> TimeWindow | None:
    """The first time that a query names; a date counts as exact, “last week” as relative, “recently” as vague."""
    for one in date_mentions(text, now):
        return TimeWindow(one.when, "relative" if one.relative else "exact")
    for words, days in VAGUE.items():
        if words.search(text):
            return TimeWindow(TimeInterval(now - timedelta(days=days), now), "vague")
    return None


def recency_intent(text: str) -> str:
    """How fresh an answer must be: HIGH where a query is about right now, LOW where it asks for background."""
    high, medium, low = INTENTS
    return high if FRESH.search(text) else low if BACKGROUND.search(text) else medium
