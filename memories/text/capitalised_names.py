"""Names found by capitalisation."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from memories.text.mention import TextMention
from memories.text.spelling import POSSESSIVE, WORD, fold_spelling
from memories.text.stopwords import CALENDAR_WORDS, NAMED_DAYS, PARTICLES, PERSON_VERBS, STOP_WORDS, TITLES, WEEKDAYS

WORD_PATTERN = re.compile(rf"{WORD}(?:['’ʼ‐‑&-]{WORD})*")
SENTENCE_END = re.compile(r"[.!?…\n\"“„«]")
NEGATED = re.compile(r"n['’ʼ]t$")
JOINER = re.compile(r"['’ʼ‐‑-]")
# In words: longer runs of capitals are headlines; longer texts in upper case are shouted.
MAX_SPAN_WORDS = 6
MAX_SHORT_TEXT = 3


@dataclass(eq=False)
class TextWord:
    """A word of a text without its possessive ending, and the text before it; immutable by convention."""

    text: str
    start: int
    before: str
    starts_sentence: bool
    possessive: bool
    capitalised: bool

    @property
    def end(self) -> int:
        """Its end offset."""
        return self.start + len(self.text)

    @cached_property
    def key(self) -> str:
        """Its folded spelling."""
        return fold_spelling(self.text)

    @property
    def is_abbreviation(self) -> bool:
        """Whether a period after it does not end the sentence: an initial or a title."""
        return (len(self.text) == 1 and starts_uppercase(self.text)) or self.key in TITLES

    @cached_property
    def is_stop(self) -> bool:
        """Whether it cannot be a name: a stop word, also in contractions such as "I'm", "Let's" and "Don't"."""
        key = self.key
        return key in STOP_WORDS or key.partition("'")[0] in STOP_WORDS or bool(NEGATED.search(key))


@dataclass(frozen=True)
class CapitalisedMention(TextMention):
    """A capitalised span; not `certain` if it may only be the start of a sentence."""

    certain: bool


def starts_uppercase(text: str) -> bool:
    """Whether a text starts with an upper-case or title-case letter."""
    return text[0].isupper() or text[0].istitle()


def is_ascii_alpha(word: str) -> bool:
    """Whether a word is plain ASCII letters; a cheap test that skips a regex search for most words."""
    return word.isascii() and word.isalpha()


def is_capitalised(word: str) -> bool:
    """Whether a word is capitalised, possibly after a particle: al-Saud, d'Artagnan."""
    if starts_uppercase(word):
        return True
    if is_ascii_alpha(word):
        return False
    particle, *rest = JOINER.split(word, maxsplit=1)
    return bool(rest) and particle in PARTICLES and starts_uppercase(rest[0])


def split_words(text: str) -> list[TextWord]:
    """Split a text into words."""
    words: list[TextWord] = []
    end = 0
    for match in WORD_PATTERN.finditer(text):
        start, surface = match.start(), match[0]
        before, bare = text[end:start], surface if is_ascii_alpha(surface) else POSSESSIVE.sub("", surface)
        initial = not words or ends_sentence(words[-1], before)
        words.append(TextWord(bare, start, before, initial, bare is not surface, is_capitalised(bare)))
        end = match.end()
    return words


def ends_sentence(previous: TextWord, before: str) -> bool:
    """Whether the text between two words ends a sentence."""
    if before == " " or not SENTENCE_END.search(before):
        return False
    return not (before.strip() == "." and previous.is_abbreviation)


def capitalised_mentions(text: str) -> Iterator[CapitalisedMention]:
    """Names of one or more words, including initials and particles."""
    text_words = split_words(text)
    # Capitals carry no information in an all-caps text.
    shouted = len(text_words) > MAX_SHORT_TEXT and text.isupper()
    capitalised_elsewhere = {word.text for word in text_words if word.capitalised and not word.starts_sentence}
    index = 0
    while index < len(text_words):
        if not text_words[index].capitalised:
            index += 1
            continue
        stop = _span_end(text_words, index)
        span = _trim_span(text_words[index:stop]) if stop - index <= MAX_SPAN_WORDS else []
        if span and span[-1].end - span[0].start > 1:
            following = text_words[stop : stop + 2]
            certain = (
                len(span) > 1
                or not span[0].starts_sentence
                or _is_initial_name(span[0], following, capitalised_elsewhere)
            )
            start, end = span[0].start, span[-1].end
            yield CapitalisedMention(text[start:end], start, end, certain and not shouted)
        index = stop


def _span_end(text_words: list[TextWord], start: int) -> int:
    """The end of the run of capitalised words from here; particles count only between them."""
    end = start + 1
    for index in range(end, len(text_words)):
        word = text_words[index]
        if not _is_same_name(text_words[index - 1], word):
            return end
        if word.capitalised:
            end = index + 1
        elif word.text not in PARTICLES:
            return end
    return end


def _is_same_name(first: TextWord, second: TextWord) -> bool:
    """Whether two words can belong to one name."""
    if first.possessive or second.starts_sentence or first.key in CALENDAR_WORDS:
        return False
    if second.capitalised and second.is_stop and first.key not in NAMED_DAYS and not first.is_stop:
        return False
    return second.before in (" ", "\u00a0", " & ") or (first.is_abbreviation and second.before in (". ", "."))


def _trim_span(span: list[TextWord]) -> list[TextWord]:
    """Drop words at either end that are not part of the name."""
    while span and (span[0].is_stop or not span[0].capitalised):
        span = span[1:]
    while span and (span[-1].key in CALENDAR_WORDS or not span[-1].capitalised):
        if len(span) > 1 and span[-1].key in WEEKDAYS and span[-2].key in NAMED_DAYS:
            break
        span = span[:-1]
    return span


def _is_initial_name(word: TextWord, following: list[TextWord], capitalised_elsewhere: set[str]) -> bool:
    """Whether a sentence-initial word would also be capitalised within a sentence."""
    if word.possessive or word.text in capitalised_elsewhere or (len(word.text) > 1 and word.text.isupper()):
        return True
    if not following:
        return False
    first = following[0]
    with_another = first.text == "and" and len(following) > 1 and following[1].capitalised and not following[1].is_stop
    return first.before == " " and (first.key in PERSON_VERBS or with_another)
