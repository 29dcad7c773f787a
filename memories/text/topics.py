"""Topic tags of a statement."""

import re

# Word prefixes: “paint” matches painting and painter.
TOPICS = {
    "family": "wife husband partner mother mom mum father dad parent sister brother sibling son daughter kid child"
    " children family grandm grandp aunt uncle cousin marri wedding",
    "friends": "friend roommate neighbo",
    "pets": "dog puppy pup cat kitten pet pets parrot hamster turtle",
    "work": "job work career boss colleague coworker office company business startup promot interview client salary",
    "education": "school college university class course study studying degree exam graduat teacher student",
    "health": "doctor hospital allerg sick illness injur surgery therap diet medic health asthma anxi",
    "sport": "run running gym yoga hike hiking swim soccer football basketball tennis marathon workout race climb surf",
    "travel": "travel trip vacation holiday flight visit visited tour abroad beach camping roadtrip",
    "food": "cook bake recipe restaurant dinner lunch breakfast coffee tea cake dessert meal cuisine vegan vegetarian",
    "arts": "paint draw sketch pottery art music song guitar piano violin band concert danc film movie book novel write"
    " writing screenplay poem photograph museum theat",
    "games": "game gaming gamer tournament chess console",
    "home": "house home apartment flat garden kitchen furniture mov moved moving rent",
    "technology": "computer laptop code coding software programming database server app",
    "money": "money debt loan mortgage invest budget savings",
}
MIN_PREFIX_LENGTH = 5  # prefix length from which any suffix matches


def _stem_pattern(stem: str) -> str:
    return stem + (r"\w*" if len(stem) >= MIN_PREFIX_LENGTH else "s?")


_TOPIC_PATTERNS = {
    topic: re.compile(rf"\b(?:{'|'.join(map(_stem_pattern, stems.split()))})\b", re.IGNORECASE)
    for topic, stems in TOPICS.items()
}


def topic_tags(text: str) -> tuple[str, ...]:
    """The topics a text mentions.

    >>> topic_tags("Maya's sister paints"), topic_tags("It rained")
    (('arts', 'family'), ())
    """
    return tuple(sorted(topic for topic, pattern in _TOPIC_PATTERNS.items() if pattern.search(text)))
