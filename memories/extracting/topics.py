"""What a statement is about, as tags."""

import re

# Beginnings of words, so that “paint” finds painting and painter.
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
LONG_ENOUGH = 5  # characters of a stem from which on a word may go on
_ABOUT = {
    topic: re.compile(
        rf"\b(?:{'|'.join(stem + (chr(92) + 'w*' if len(stem) >= LONG_ENOUGH else 's?') for stem in stems.split())})\b",
        re.IGNORECASE,
    )
    for topic, stems in TOPICS.items()
}


def topics(text: str) -> tuple[str, ...]:
    """Name the topics that a text touches.

    >>> topics("Maya's sister paints"), topics("It rained")
    (('arts', 'family'), ())
    """
    return tuple(sorted(topic for topic, words in _ABOUT.items() if words.search(text)))
