"""Names by their capitals."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from memories.language.mention import Mention
from memories.language.spelling import POSSESSIVE, WORD, plain
from memories.language.stopwords import CALENDAR, DEEDS, NAMED_DAYS, PARTICLES, STOP, TITLES, WEEKDAYS

WORDS = re.compile(rf"{WORD}(?:['’ʼ‐‑&-]{WORD})*")
SENTENCE_END = re.compile(r"[.!?…\n\"“„«]")
NEGATED = re.compile(r"n['’ʼ]t$")
JOINT = re.compile(r"['’ʼ‐‑-]")
# In words: a longer run of capitals is a headline, a longer text in capitals alone is shouted.
LONGEST = 6
SHOUTED = 3


@dataclass(eq=False)
class Word:
    """A word of a text, the ending of an owner taken off, and what stands before it; never changed once made."""

    text: str
    start: int
    before: str
    opens: bool
    owner: bool
    capital: bool

    @property
    def end(self) -> int:
        """Say where it ends."""
        return self.start + len(self.text)

    @cached_property
    def key(self) -> str:
        """Spell it plainly."""
        return plain(self.text)

    @property
    def shortened(self) -> bool:
        """Tell whether a point after it ends no sentence: an initial or a title."""
        return (len(self.text) == 1 and is_capital(self.text)) or self.key in TITLES

    @cached_property
    def stop(self) -> bool:
        """Tell whether it names nobody: "I'm", "Let's" and "Don't" no more than "I" and "Monday"."""
        spelt = self.key
        return spelt in STOP or spelt.partition("'")[0] in STOP or bool(NEGATED.search(spelt))


@dataclass(frozen=True)
class Capitalised(Mention):
    """A span of capitals; not `sure` where the beginning of a sentence alone may explain it."""

    sure: bool


def is_capital(text: str) -> bool:
    """Tell whether a text begins with a capital; some letters have a third case, for titles."""
    return text[0].isupper() or text[0].istitle()


def of_letters(word: str) -> bool:
    """Tell whether a word has neither apostrophe nor hyphen; most have not, and a look is cheaper than a search."""
    return word.isascii() and word.isalpha()


def has_capital(word: str) -> bool:
    """Tell whether a word begins with a capital, be it after a particle: al-Saud, d'Artagnan."""
    if is_capital(word):
        return True
    if of_letters(word):
        return False
    particle, *rest = JOINT.split(word, maxsplit=1)
    return bool(rest) and particle in PARTICLES and is_capital(rest[0])


def words(text: str) -> list[Word]:
    """Cut a text into words."""
    found: list[Word] = []
    end = 0
    for match in WORDS.finditer(text):
        start, whole = match.start(), match[0]
        before, bare = text[end:start], whole if of_letters(whole) else POSSESSIVE.sub("", whole)
        starts = not found or opens(found[-1], before)
        found.append(Word(bare, start, before, starts, bare is not whole, has_capital(bare)))
        end = match.end()
    return found


def opens(previous: Word, before: str) -> bool:
    """Tell whether what stands between two words ends a sentence."""
    if before == " " or not SENTENCE_END.search(before):
        return False
    return not (before.strip() == "." and previous.shortened)


def capitalised(text: str) -> Iterator[Capitalised]:
    """Find names of one or several words, with the initials and particles in them."""
    cut = words(text)
    # In a text that shouts, capitals tell nothing.
    shouted = len(cut) > SHOUTED and text.isupper()
    elsewhere = {word.text for word in cut if word.capital and not word.opens}
    place = 0
    while place < len(cut):
        if not cut[place].capital:
            place += 1
            continue
        stop = _span_end(cut, place)
        span = _trimmed(cut[place:stop]) if stop - place <= LONGEST else []
        if span and span[-1].end - span[0].start > 1:
            following = cut[stop : stop + 2]
            sure = len(span) > 1 or not span[0].opens or _is_name(span[0], following, elsewhere)
            start, end = span[0].start, span[-1].end
            yield Capitalised(text[start:end], start, end, sure and not shouted)
        place = stop


def _span_end(cut: list[Word], start: int) -> int:
    """Say where the run that begins with this capital ends; particles count between capitals only."""
    end = start + 1
    for place in range(end, len(cut)):
        word = cut[place]
        if not _joined(cut[place - 1], word):
            return end
        if word.capital:
            end = place + 1
        elif word.text not in PARTICLES:
            return end
    return end


def _joined(first: Word, second: Word) -> bool:
    """Tell whether two words can belong to one name."""
    if first.owner or second.opens or first.key in CALENDAR:
        return False
    if second.capital and second.stop and first.key not in NAMED_DAYS and not first.stop:
        return False
    return second.before in (" ", "\u00a0", " & ") or (first.shortened and second.before in (". ", "."))


def _trimmed(span: list[Word]) -> list[Word]:
    """Take off what is not part of the name at either end."""
    while span and (span[0].stop or not span[0].capital):
        span = span[1:]
    while span and (span[-1].key in CALENDAR or not span[-1].capital):
        if len(span) > 1 and span[-1].key in WEEKDAYS and span[-2].key in NAMED_DAYS:
            break
        span = span[:-1]
    return span


def _is_name(word: Word, following: list[Word], elsewhere: set[str]) -> bool:
    """Tell whether a word with a capital that begins a sentence would have one anywhere."""
    if word.owner or word.text in elsewhere or (len(word.text) > 1 and word.text.isupper()):
        return True
    if not following:
        return False
    first = following[0]
    with_another = first.text == "and" and len(following) > 1 and following[1].capital and not following[1].stop
    return first.before == " " and (first.key in DEEDS or with_another)
