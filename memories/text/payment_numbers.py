"""Card numbers and IBANs in a text; prefix and check digits rule out phone numbers, timestamps and ids."""

import re
from collections.abc import Iterator

from memories.text.stopwords import parse_words

Span = tuple[int, int]

# Prefixes and lengths by network; ISBN-13 (978, 979) and millisecond timestamps (1…) match none.
CARD_PATTERN = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|(?:36|38|39|30[0-5])\d{11,17}"  # Diners
    r"|(?:6011|64[4-9]|65|62|81)\d{11,17}"  # Discover, UnionPay
    r"|35(?:2[89]|[3-8]\d)\d{12,15}"  # JCB
    r"|(?:50|5[6-8]|6304|67)\d{9,17}"  # Maestro
)
MIN_CARD_DIGITS, MAX_CARD_DIGITS = 13, 19
MAX_PHONE_DIGITS = 15  # E.164
# A UUID, which is skipped, or digits in one piece or in groups of at least three.
_DIGIT_RUN = re.compile(
    r"\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b"
    r"|(?P<digits>\d{3,}+(?:[ \u00a0\u2009\u202f‐-―-]\d{3,}+)*+)"
)
_GROUP = re.compile(r"\d+")

IBAN_LENGTHS = {
    entry[:2]: int(entry[2:])
    for entry in parse_words(
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 "
        "FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 "
        "LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 "
        "SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
    )
}
_IBAN_HEAD = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}", re.ASCII)
_IBAN_BODY = re.compile(r"(?: ?[A-Z0-9])*", re.ASCII)


def card_spans(text: str) -> Iterator[Span]:
    """Spans of card numbers, left to right."""
    for run in _DIGIT_RUN.finditer(text):
        if run["digits"] is None:
            continue
        phone = text[run.start() - 1 : run.start()] == "+"
        groups = [group.span() for group in _GROUP.finditer(text, *run.span())]
        if phone and sum(stop - start for start, stop in groups) <= MAX_PHONE_DIGITS:
            continue
        yield from _cards_in_groups(text, groups)


def _cards_in_groups(text: str, groups: list[Span]) -> Iterator[Span]:
    """Cards that start and end at group boundaries."""
    first = 0
    while first < len(groups):
        digits, best = "", None
        for last in range(first, len(groups)):
            digits += text[slice(*groups[last])]
            if len(digits) > MAX_CARD_DIGITS:
                break
            if len(digits) >= MIN_CARD_DIGITS and is_card(digits):
                best = last
        if best is None:
            first += 1
        else:
            yield groups[first][0], groups[best][1]
            first = best + 1


def is_card(digits: str) -> bool:
    """Whether a number has a network's prefix and length and passes the Luhn check."""
    return bool(CARD_PATTERN.fullmatch(digits)) and luhn_valid(digits)


def luhn_valid(digits: str) -> bool:
    """The Luhn check: the digit sum, every second digit from the right doubled, is a multiple of ten.

    >>> luhn_valid("4111111111111111"), luhn_valid("4111111111111112")
    (True, False)
    """
    values = [int(digit) for digit in reversed(digits)]
    return sum(values[::2] + [sum(divmod(2 * value, 10)) for value in values[1::2]]) % 10 == 0


def iban_spans(text: str) -> Iterator[Span]:
    """Spans of IBANs, left to right."""
    end = 0
    for head in _IBAN_HEAD.finditer(text):
        length = IBAN_LENGTHS.get(head[0][:2])
        if length is None or head.start() < end:
            continue
        # At most every second character is a space.
        body = _IBAN_BODY.match(text, head.end(), head.end() + 2 * length)
        stop = _iban_end(text, head.start(), body.end() if body else head.end(), length)
        if stop and mod_97(text[head.start() : stop].replace(" ", "")) == 1:
            yield head.start(), stop
            end = stop


def _iban_end(text: str, start: int, stop: int, length: int) -> int:
    """The end of an IBAN of this length, or 0 if another character follows."""
    for offset in range(start, stop):
        length -= text[offset] != " "
        if not length:
            following = text[offset + 1 : offset + 2]
            return 0 if following.isalnum() else offset + 1
    return 0


def mod_97(iban: str) -> int:
    """The ISO 7064 remainder, 1 for a valid IBAN.

    >>> mod_97("DE89370400440532013000")
    1
    """
    return int("".join(str(int(char, 36)) for char in iban[4:] + iban[:4])) % 97
