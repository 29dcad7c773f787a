"""The wording of a short statement as typed tokens: words, numbers, quantities, times and codes in canonical form."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from scoring.units import UNITS, base_unit

Kind = Literal["word", "number", "ordinal", "quantity", "time", "code"]


def word_list(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
COUNTS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_TEENS = ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_NUMBER_WORDS = {word: value for value, word in enumerate([*COUNTS, *_TEENS])}
_NUMBER_WORDS |= {word: 10 * value for value, word in enumerate(_TENS, 2)}
_NUMBER_WORDS |= {
    f"{tens}-{ones}": _NUMBER_WORDS[tens] + value for tens in _TENS for value, ones in enumerate(COUNTS[1:10], 1)
}
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_ORDINALS += ["eleventh", "twelfth"]
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_SUFFIXES = {"k": 1_000, "m": 1_000_000, "bn": 1_000_000_000}

_ARTICLES = word_list("a an the")
# Adverbs and quantifiers without which a statement says the same, or the same about now.
FILLERS = word_list(
    """
    actually all already also always any anymore currently definitely indeed just now nowadays personally
    presently quite really simply still very yet
    """
)
NEGATIONS = word_list("neither never no nobody none nor not nothing")
# “Nobody” is “anybody”, negated; “everybody” says it of all.
_UNIVERSALS = {"nobody": "anybody", "everybody": "anybody", "everyone": "anybody", "nothing": "anything"}
_UNIVERSALS |= {"everything": "anything", "anyone": "anybody"}
HEDGES = word_list(
    """
    allegedly apparently could guess likely maybe may might occasionally partially partly perhaps possibly presumably
    probably rumoured seem several some sometimes supposedly suspect unlikely unsure would
    """
)
# What is wanted or planned is denied by its negation only: one may want to live in two places.
INTENTIONS = word_list(
    "aim consider considering dream hope hoping intend plan planning think thinking try trying want wish"
)
APPROXIMATIONS = word_list(
    """
    about above almost approximately around below between fewer least less maximum minimum more most nearly over roughly
    under up within
    """
)
PREPOSITIONS = word_list(
    """
    about above across after against along among around as at before behind below beneath beside between beyond by down
    during for from in inside into near of off on onto out outside over past per since than through throughout to toward
    towards under until up upon via with within without
    """
)
_FUNCTION_WORDS = PREPOSITIONS | word_list(
    """
    and how why another each every other per such or but nor so yet if because while although that which who whom whose
    when where this these those there here he she it they him her them his its their theirs hers i me my mine we
    us our ours you your yours 's
    """
)
PRONOUNS = word_list("he she it they him her them his its their i me my we us our you your hers theirs")
FIRST_PERSON = word_list("i me my mine myself we us our ours ourselves")
_AUXILIARIES = word_list("be have do can could will would shall should may might must")
_IRREGULAR = {
    **dict.fromkeys(["is", "are", "am", "was", "were", "been", "being"], "be"),
    **dict.fromkeys(["has", "had"], "have"),
    **dict.fromkeys(["does", "did"], "do"),
    "goes": "go",
}
_CONTRACTIONS = {"n't": "not", "'re": "are", "'ve": "have", "'m": "am", "'ll": "will", "'d": "would"}
_UNCONTRACTED = {"can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not"}

_TOKEN = re.compile(
    r"""
    (?P<code>https?://[^\s<>"]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)
    |(?P<iso>\d{4}-\d{2}-\d{2})(?!\w)
    |(?P<clock>\d{1,2}:\d{2})(?:\ ?(?P<half>[ap])\.?m\b\.?)?(?![\w:])
    |(?P<hour>\d{1,2})\ ?(?P<noon>[ap])\.?m\b\.?
    |(?P<currency>[$€£])\ ?(?P<money>\d[\d,]*(?:\.\d+)?)(?P<scale>k|m|bn)?(?!\w)
    |(?P<nth>\d+)(?:st|nd|rd|th)(?!\w)
    |(?P<number>(?:(?<![^\s(])[-−])?\d+(?:,\d{3}(?!\d))*(?:\.\d+)*)
        (?:\ ?(?P<percent>%)|(?P<unit>°?[^\W\d_]+)?)(?![\w/:#-]|\.\d)
    |(?P<label>[#@]?(?=[^\s,;!?]*\d)\w(?:[\w./:#+-]*\w)?)
    |(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*(?:-[^\W\d_]+(?:['’][^\W\d_]+)*)*(?:\+\+|\#)?)
    |(?P<possessive>(?<=s)['’](?=\s))
    |(?P<degree>°[cf]\b)
    |(?P<break>[.;!?](?=\s|$))
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ATTRIBUTION = re.compile(
    r"according to [^,]{1,80}, "
    r"|(?:i|we) (?P<denied>do not |don't )?(?:think|believe|guess|know|suppose)(?: that)? "
    r"|[^\W\d_]\S*(?: \S+){0,2}? (?:says?|said|thinks?|thought)(?: that)? "
    r"|[^\W\d_]\S*(?: \S+){0,2}? (?:reports?|reported|mentions?|mentioned|claims?|claimed|confirms?|confirmed) that ",
    re.IGNORECASE,
)
_NUMERO = re.compile(r"\bno\.? ?(?=\d)", re.IGNORECASE)
# “9–17”, “9:00-17:00” and “2019–2021” are ranges, “555-1234” is a number.
_BOUND = r"(?:\d\d?(?:[.:]\d+)?|(?:19|20)\d\d)"
_RANGE = re.compile(rf"(?<![\w-])({_BOUND})\s*[-–—]\s*(?={_BOUND}(?![\w-]))")


class Token(NamedTuple):
    """A token: its text, the key it is compared by, and what introduced it."""

    text: str
    key: str
    kind: Kind = "word"
    proper: bool = False  # capitalised within a sentence, or with a capital inside
    article: str = ""  # the article dropped before it

    @property
    def is_plain(self) -> bool:
        """Whether it is a word of content: no preposition, pronoun, conjunction or auxiliary."""
        return (
            self.kind == "word"
            and self.key[:1].isalpha()
            and self.key not in _FUNCTION_WORDS | _AUXILIARIES
            and self.text not in FILLERS
        )


@dataclass(frozen=True)
class Wording:
    """A statement without articles, fillers and negations, of which only the parity is kept."""

    tokens: tuple[Token, ...]
    negations: int = 0
    hedged: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """What two statements are compared by."""
        return tuple(token.key for token in self.tokens)

    @property
    def intended(self) -> bool:
        """Whether it is about what is wanted or planned: “plans to”, “is considering”."""
        following = (*self.keys, "")[1:]
        return any(
            (token.key in INTENTIONS and after in ("about", "of", "on", "that", "to"))
            or (token.text in INTENTIONS and token.text.endswith("ing"))
            for token, after in zip(self.tokens, following, strict=True)
        )

    @property
    def negated(self) -> bool:
        """Whether it is negated; a double negation is not."""
        return self.negations % 2 == 1


@lru_cache(maxsize=4096)
def parse_wording(text: str) -> Wording:
    """The tokens of a statement in canonical form.

    >>> parse_wording("The meeting isn't at 3 pm, it starts at 15:30").keys
    ('meeting', 'be', 'at', 'time=15:00', 'it', 'start', 'at', 'time=15:30')
    >>> parse_wording("Waits half an hour").keys == parse_wording("Waits 30 minutes").keys
    True
    """
    text = " ".join(unicodedata.normalize("NFKC", text).replace("’", "'").split())
    text, denied = _strip_attribution(_NUMERO.sub("number ", text))
    tokens = merge_quantities(merge_times(list(_tokens(text))))
    kept: list[Token] = []
    negations, hedged, article = int(denied), False, ""
    for index, token in enumerate(tokens):
        word = token.text if token.kind == "word" else ""
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if word in _ARTICLES and not token.proper:
            article = word
            continue
        hedged |= token.key in HEDGES or word in HEDGES
        if word in NEGATIONS and following not in ("only", "just"):
            negations += 1
            if word in _UNIVERSALS:
                kept.append(token._replace(key=_UNIVERSALS[word]))
            # “does not eat” is “eats”, negated.
            if kept and kept[-1].text in ("do", "does", "did"):
                kept.pop()
            continue
        leftover = word == "longer" and index and tokens[index - 1].text == "no"
        of_all = word == "of" and index and tokens[index - 1].text in ("all", "none", "some", "any")
        if word in FILLERS or leftover or of_all:
            continue
        kept.append(token._replace(key=_UNIVERSALS.get(token.key, token.key), article=article))
        article = ""
    while kept and kept[-1].key == ".":
        kept.pop()
    return Wording(tuple(kept), negations, bool(hedged))


def lemma(word: str) -> str:
    """A word without the s of a plural or of a third person.

    >>> [lemma(word) for word in ("lives", "watches", "is", "bus", "cities", "process")]
    ['live', 'watch', 'be', 'bus', 'city', 'process']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("shes", "ches", "xes", "zes", "sses")) else word[:-1]


def time_parts(key: str) -> dict[str, str]:
    """The components of a time's key: day, month, year, weekday, time of day, quarter.

    >>> time_parts("day=3 month=3")
    {'day': '3', 'month': '3'}
    """
    return dict(part.split("=") for part in key.split())


def _strip_attribution(text: str) -> tuple[str, bool]:
    """The text without “Priya says that”, unless a pronoun may refer to the speaker, and whether that denied it."""
    match = _ATTRIBUTION.match(text)
    if match is None or PRONOUNS & set(re.findall(r"\w+", text[match.end() :].casefold())):
        return text, False
    return text[match.end() :], match["denied"] is not None


def _tokens(text: str) -> Iterator[Token]:
    """Words, numbers and codes; quantities and times are still in pieces."""
    start_of_sentence = True
    for match in _TOKEN.finditer(_RANGE.sub(r"\1 to ", text)):
        yield from _token(match, start_of_sentence)
        start_of_sentence = match["break"] is not None


def _token(match: re.Match[str], starts: bool) -> Iterator[Token]:
    found, text = match.groupdict(), match[0].casefold()
    if found["iso"]:
        year, month, day = (int(part) for part in text.split("-"))
        yield _time(text, day=day, month=month, year=year)
    elif found["clock"] or found["hour"]:
        hour, _, minute = (found["clock"] or found["hour"]).partition(":")
        yield _clock(text, int(hour), int(minute or 0), (found["half"] or found["noon"] or "").casefold())
    elif found["money"]:
        unit = Token(found["currency"], UNITS[found["currency"]])
        yield from (_number(found["money"], (found["scale"] or "").casefold()), unit)
    elif found["nth"]:
        yield Token(text, f"{found['nth']}.", "ordinal")
    elif found["number"]:
        yield from _number_with_suffix(text, found["number"], found["percent"], (found["unit"] or "").casefold())
    elif found["code"] or found["label"]:
        yield Token(text, text, "code")
    elif found["break"]:
        yield Token(".", ".")
    elif found["possessive"]:
        yield Token("'s", "'s")
    elif found["degree"]:
        yield Token(text, text)
    else:
        yield from _words(match[0], starts)


def _number_with_suffix(text: str, number: str, percent: str | None, suffix: str) -> Iterator[Token]:
    if percent:
        yield Token(text, f"{_canonical(number)}%", "quantity")
    elif not suffix:
        yield _number(number)
    elif suffix in UNITS:
        yield from (_number(number), Token(suffix, suffix))
    elif suffix in _SUFFIXES:
        yield _number(number, suffix)
    else:
        yield Token(text, text, "code")


def _number(digits: str, suffix: str = "") -> Token:
    return Token(digits, _canonical(digits, _SUFFIXES.get(suffix, 1)), "number")


def _canonical(digits: str, scale: float = 1) -> str:
    """A number in its shortest form; versions, with two dots or more, stay as they are."""
    digits = digits.replace(",", "").replace("−", "-")
    if digits.count(".") > 1:
        return digits
    # 1.30 is a version as often as a number, so its zero stays unless it is scaled.
    return digits if scale == 1 else f"{float(digits) * scale:.12g}"


def _words(text: str, starts: bool) -> Iterator[Token]:
    """A word without its contraction or possessive; number words are numbers."""
    folded = text.casefold()
    proper = text != text.lower() and (not starts or text[1:] != text[1:].lower())
    if folded in _UNCONTRACTED:
        yield from (Token(word, lemma(word)) for word in _UNCONTRACTED[folded].split())
        return
    ending = next((ending for ending in (*_CONTRACTIONS, "'s") if folded.endswith(ending)), "")
    word = folded.removesuffix(ending)
    if word in _NUMBER_WORDS:
        yield Token(word, str(_NUMBER_WORDS[word]), "number")
    elif word in _ORDINALS:
        yield Token(word, f"{_ORDINALS.index(word) + 1}.", "ordinal")
    else:
        yield Token(word, lemma(word), proper=proper)
    if ending == "'s":
        # “he's” is “he is”, “Maya's” a possessive.
        yield Token("'s", "be" if word in PRONOUNS or word in ("there", "that", "what") else "'s")
    elif ending:
        yield Token(_CONTRACTIONS[ending], lemma(_CONTRACTIONS[ending]))


def merge_times(tokens: Sequence[Token]) -> list[Token]:
    """Adjacent parts of a date or a time of day as one token."""
    merged: list[Token] = []
    index = 0
    while index < len(tokens):
        parts, end = _time_at(tokens, index)
        if parts:
            merged.append(_time(" ".join(token.text for token in tokens[index:end]), **parts))
            index = end
        else:
            merged.append(tokens[index])
            index += 1
    return merged


def _time_at(tokens: Sequence[Token], start: int) -> tuple[dict[str, str], int]:
    """The components of the time that starts at a token, and where it ends."""
    parts: dict[str, str] = {}
    index = end = start
    while index < len(tokens):
        token = tokens[index]
        found = _time_atom(tokens, index, parts)
        if found and not found.keys() & parts.keys():
            parts |= found
            index = end = index + 1
        elif token.text in _DATE_WORDS and (parts or (token.text == "the" and _is_ordinal(tokens, index + 1))):
            index += 1
        else:
            break
    return parts, end


_DATE_WORDS = ("at", "in", "of", "on", "the")


def _is_ordinal(tokens: Sequence[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].kind == "ordinal"


def _time_atom(tokens: Sequence[Token], index: int, parts: Mapping[str, str]) -> dict[str, str]:
    """The component of a time that a token names, if its neighbours allow it."""
    token = tokens[index]
    before = tokens[index - 1].text if index else ""
    following = tokens[index + 1] if index + 1 < len(tokens) else Token("", "")
    word = token.text
    if token.kind == "time":
        return time_parts(token.key)
    if token.kind == "code" and re.fullmatch(r"q[1-4]", word):
        return {"quarter": word[1]}
    if token.kind == "word":
        if word in ("noon", "midnight"):
            return {"time": "12:00" if word == "noon" else "00:00"}
        if word.removesuffix("s") in DAYS:
            return {"weekday": word.removesuffix("s")}
        return _month(token, tokens, index)
    value = token.key.removesuffix(".")
    if token.kind not in ("number", "ordinal") or not value.isdigit():
        return {}
    next_to_month = bool(_month(following, tokens, index + 1)) or (
        index + 2 < len(tokens) and following.text == "of" and bool(_month(tokens[index + 2], tokens, index + 2))
    )
    if int(value) <= 31 and (next_to_month or ("month" in parts and before not in ("at", "in"))):
        return {"day": str(int(value))}
    if token.kind == "ordinal":
        counts = following.is_plain or following.kind == "ordinal"
        return {"day": value} if int(value) <= 31 and before == "the" and not counts else {}
    if re.fullmatch(r"(?:19|20)\d\d", value):
        dated = before in ("in", "since", "until", "till", "by", "from", "to", "before", "after", "of", "during")
        dated = dated and (before in ("in", "since") or not following.is_plain)
        return {"year": value} if dated or parts.keys() & {"month", "quarter"} else {}
    if before == "at" and int(value) <= 24 and not following.is_plain and following.text not in UNITS:
        return time_parts(_clock(value, int(value), 0, "").key)
    return {}


def _month(token: Token, tokens: Sequence[Token], index: int) -> dict[str, str]:
    """The month that a word names; “may” and “march” only where a date can stand."""
    named = [month for month in MONTHS if token.text in (month, month[:3])] if token.kind == "word" else []
    if not named:
        return {}
    before = tokens[index - 1] if index else Token("", "")
    following = tokens[index + 1] if index + 1 < len(tokens) else Token("", "")
    dated = before.text in ("in", "of", "last", "next", "since", "until", "by", "to", "from", "early", "late", "mid")
    numbered = before.kind in ("number", "ordinal") or following.kind in ("number", "ordinal")
    # “Jun” and “Mar” are names, “may” and “march” verbs.
    named_in_full = token.text in MONTHS and (dated or token.proper or token.text not in ("may", "march"))
    if not (numbered or named_in_full):
        return {}
    return {"month": str(MONTHS.index(named[0]) + 1)}


def _time(text: str, **parts: object) -> Token:
    return Token(text, " ".join(f"{name}={value}" for name, value in sorted(parts.items())), "time")


def _clock(text: str, hour: int, minute: int, half: str) -> Token:
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return _time(text, time=f"{hour:02}:{minute:02}")


def merge_quantities(tokens: Sequence[Token]) -> list[Token]:
    """Numbers with their units as one token, in the base unit: “5 km” is “5,000 metres”."""
    merged: list[Token] = []
    for token in tokens:
        previous = merged[-1] if merged else Token("", "")
        text = f"{previous.text} {token.text}"
        if token.text == "percent" and previous.kind == "number":
            merged[-1] = Token(text, f"{previous.key}%", "quantity")
        elif token.text in _SCALES and previous.kind == "number" and previous.key.count(".") < 2:
            merged[-1] = Token(text, f"{float(previous.key) * _SCALES[token.text]:.12g}", "number")
        elif token.text in UNITS and previous.kind == "number" and previous.key.count(".") < 2:
            merged[-1] = _quantity(text, float(previous.key), token.text)
        elif token.text in UNITS and [one.text for one in merged[-2:]] == ["half", "an"]:
            merged[-2:] = [_quantity(text, 0.5, token.text)]
        elif token.text in ("degrees", "degree") and previous.kind == "number":
            merged[-1] = Token(text, f"{previous.key} degree", "quantity")
        else:
            merged.append(token)
    return merged


def _quantity(text: str, number: float, unit: str) -> Token:
    base, scale = base_unit(UNITS[unit])
    return Token(text, f"{number * scale:.12g} {base}", "quantity")
