"""Whether two memories may be one, must stay apart, or cannot both hold: embeddings do not tell these apart.

Three checks, from the loosest claim to the strictest:
`conflicts` – a contradictory signal: not merged and no corroboration, but both stay;
`restates` – the same fact or the same words: may be merged without asking;
`contradicts` – cannot both hold of one thing at one time: the later memory makes the earlier outdated.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from scoring import predicates
from scoring.dedup import normalize
from scoring.predicates import normalize_predicate
from scoring.units import measures
from scoring.wording import (
    APPROXIMATIONS,
    COUNTS,
    DAYS,
    MONTHS,
    PREPOSITIONS,
    PRONOUNS,
    Token,
    Wording,
    parse_wording,
    time_parts,
    word_list,
)

_NEGATION = re.compile(
    r"\b(?:not|never|none|neither|nor|cannot|stopped|quit|avoids?|dislikes?|hates?|refuses?|declined?)\b"
    r"|n['’]t\b|\bno\b(?!\.? ?\d)"  # “No. 5” is a number
)
# A month is named in full or by its first three letters; “may” is a month only in a temporal context.
_MAY = r"(?<=\d )may|(?<=\bin )may|(?<=\bof )may|(?<=\blast )may|(?<=\bnext )may|(?<=\bsince )may|may(?= \d)"
_MONTH = re.compile(rf"\b({'|'.join(m[:3] + f'(?:{m[3:]})?' for m in MONTHS if m != 'may')}|{_MAY})\b")
_DAY = re.compile(rf"\b({'|'.join(DAYS)})s?\b")
# A minus sign precedes a number; a dash between two numbers is a range.
_NUMBER = re.compile(r"((?<![^\s(])[-−]|\bminus )?((?<!\d)\d+(?:[.,:/]\d+)*)( ?%| per ?cent\b)?")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
_VERSION = re.compile(r"(?<!\d)\d+(?:\.\d+){2,}")
_COUNT = re.compile(rf"\b({'|'.join(count for count in COUNTS if count != 'one')})\b")
_WORD = re.compile(r"[^\W\d_]+")
_SIGNED = re.compile(r"(?<!\w)([^\W\d_]+)(\+\+|#)?(?!\w)")  # C, C++, C#

DIFFERENT_VALUE = "another value"
SWAPPED_ROLES = "swapped roles"
NEGATION, OPPOSITE, ANOTHER_THING = "negation", "the opposite", "another thing"
MAX_VALUE_WORDS = 3
MIN_MISSPELLING = 0.8  # similarity from which two words may be one, misspelt


@dataclass(frozen=True)
class FactStatement:
    """Text of a memory, with its triple if it has one."""

    content: str
    subject: str = ""
    predicate: str = ""
    object: str = ""


def conflicts(one: FactStatement, other: FactStatement) -> tuple[str, ...]:
    r"""Contradictory signals: two memories that must be neither merged nor counted as support; both stay.

    Conservative: identifiers, dates and numbers that differ are conflicts, though often of two different things.

    $$ \text{negation} \vee \text{number} \vee \text{unit} \vee \text{sign} \vee \text{date} \vee \text{version}
       \vee \text{roles} \vee \text{value} $$

    >>> conflicts(FactStatement("Runs PostgreSQL 14"), FactStatement("Runs PostgreSQL 15"))
    ('another number',)
    """
    a, b = (normalize(statement.content) or statement.content for statement in (one, other))
    wordings = parse_wording(one.content), parse_wording(other.content)
    reasons: list[str] = []
    # In one wording, “3 pm” and “15:00” are one value in two forms.
    if not _same_wording(*wordings):
        reasons = [reason for reason, values in ASPECTS.items() if _differ(values(a), values(b))]
        if is_negated(a) != is_negated(b):
            reasons.append(NEGATION)
    if _signs_differ(a, b):
        reasons.append("another sign")
    if _roles_swapped(_WORD.findall(a), _WORD.findall(b)):
        reasons.append(SWAPPED_ROLES)
    if _values_differ(one, other):
        reasons.append(DIFFERENT_VALUE)
    if not reasons and names_another_thing(*wordings):
        reasons.append(ANOTHER_THING)
    if not reasons and (reason := contradicts(one, other)):
        reasons.append(reason)
    return tuple(reasons)


def restates(one: FactStatement, other: FactStatement) -> bool:
    r"""Whether two close memories say the same for certain: one triple, or the same words in the same order.

    $$ (s, p, o)_1 = (s, p, o)_2 \ \vee\ w_1 = w_2 $$

    >>> restates(FactStatement("Learns chess with care"), FactStatement("Learns chess since last year"))
    False
    """
    words = _content_words(one.content)
    same_words = words == _content_words(other.content) if words else normalize(one.content) == normalize(other.content)
    return _same_triple(one, other) or same_words


def contradicts(one: FactStatement, other: FactStatement) -> str:
    r"""Why two memories cannot both hold of one thing at one time; empty if that is not certain.

    Precise, because it hides the earlier memory: the two have one wording but for a negation, or for the one value of
    an attribute that has one value at a time. What differs in the subject names another thing; a subject that is not
    named (“he”, “a colleague”, “one of the servers”) may be another each time.

    $$ w_1 = w_2 \wedge \text{parity}_1 \neq \text{parity}_2 \ \vee\
       \text{one slot differs} \wedge \text{single-valued} \wedge v_1 \neq v_2 $$

    >>> contradicts(FactStatement("The lease ends in May"), FactStatement("The lease ends in June"))
    'another date'
    >>> contradicts(FactStatement("Server 42 runs Debian"), FactStatement("Server 43 runs Debian"))
    ''
    """
    a, b = _without_start(parse_wording(one.content), parse_wording(other.content))
    if a.hedged or b.hedged:
        return ""
    if one.subject and other.subject:
        if normalize(one.subject) != normalize(other.subject):
            return SWAPPED_ROLES if _relation_reversed(a.tokens, b.tokens) else ""
    elif not (_names_subject(a.tokens) and _names_subject(b.tokens)):
        return ""
    if a.keys == b.keys and a.negated != b.negated:
        return NEGATION
    if a.negations or b.negations or a.intended or b.intended:
        return ""
    if _triple_contradicts(one, other, a, b):
        return DIFFERENT_VALUE
    if a.keys == b.keys:
        return ""
    if _relation_reversed(a.tokens, b.tokens):
        return SWAPPED_ROLES
    slot = _find_slot(a.tokens, b.tokens)
    return _slot_contradicts(slot) if slot else ""


def implies_subject(text: str) -> bool:
    """Whether a statement leaves its subject out.

    >>> implies_subject("Lives in Oslo"), implies_subject("Maya lives in Oslo")
    (True, False)
    """
    tokens = parse_wording(text).tokens
    return bool(tokens) and (_is_verb(tokens, 0) or _is_participle(tokens[0]) or tokens[0].text in ("was", "had"))


def is_negated(text: str) -> bool:
    """Whether a text is negated; a double negation is not."""
    return len(_NEGATION.findall(text)) % 2 == 1


def versions(text: str) -> set[str]:
    """Version numbers with three or more parts."""
    return set(_VERSION.findall(text))


def dates(text: str) -> set[str]:
    """Months and weekdays, normalised."""
    return {month[:3] for month in _MONTH.findall(text)} | set(_DAY.findall(text))


def numbers(text: str) -> set[str]:
    """Signed numbers and percentages, without versions.

    >>> sorted(numbers("minus five degrees, 1,000 crowns, 7 per cent"))
    ['-5', '1000', '7%']
    """
    return {
        f"{'-' if minus else ''}{digits}{'%' if percent else ''}"
        for minus, digits, percent in _NUMBER.findall(_normalize_numbers(text))
    }


def amounts(text: str) -> set[str]:
    """Numbers with their units."""
    return measures(_normalize_numbers(text))


def with_or_without(text: str) -> set[str]:
    """“with” and “without” in the text; “without sugar” does not contradict “black coffee”."""
    return set(re.findall(r"\bwith(?:out)?\b", text))


ASPECTS: Mapping[str, Callable[[str], set[str]]] = {
    "with or without": with_or_without,
    "another version": versions,
    "another date": dates,
    "another number": numbers,
    "another unit": amounts,
}


def _normalize_numbers(text: str) -> str:
    """The text with number words as digits, without thousands separators and versions."""
    digits = _COUNT.sub(lambda match: str(COUNTS.index(match[1])), _VERSION.sub(" ", text))
    return _THOUSANDS.sub("", digits)


def _differ(first: set[str], second: set[str]) -> bool:
    """Whether each set has an element the other lacks."""
    return bool(first - second and second - first)


def _signs_differ(a: str, b: str) -> bool:
    """Whether the same name has a different suffix (C++, C#), or texts without letters differ."""
    if not re.search(r"\w", a + b):
        return a != b
    first, second = (set(_SIGNED.findall(text)) for text in (a, b))
    signed = {name for name, sign in first | second if sign}
    return _differ(*({name + sign for name, sign in names if name in signed} for names in (first, second)))


def _roles_swapped(a: list[str], b: list[str]) -> bool:
    """Whether exactly two shared words changed places; one extra word on either side is ignored."""
    shared = set(a) & set(b)
    first, second = [word for word in a if word in shared], [word for word in b if word in shared]
    if first == second or len(shared) < max(len(set(a)), len(set(b))) - 1 or sorted(first) != sorted(second):
        return False
    return sum(x != y for x, y in zip(first, second, strict=True)) == 2


def _same_wording(a: Wording, b: Wording) -> bool:
    return bool(a.keys) and a.keys == b.keys and a.negated == b.negated


def _values_differ(one: FactStatement, other: FactStatement) -> bool:
    if not (one.subject and one.predicate and one.object and other.object):
        return False
    same_subject = normalize(one.subject) == normalize(other.subject)
    same_predicate = normalize_predicate(one.predicate) == normalize_predicate(other.predicate)
    return same_subject and same_predicate and normalize(one.object) != normalize(other.object)


def _same_triple(one: FactStatement, other: FactStatement) -> bool:
    if not (one.subject and one.predicate and one.object):
        return False
    triples = [(s.subject, normalize_predicate(s.predicate), s.object) for s in (one, other)]
    return len({tuple(map(normalize, triple)) for triple in triples}) == 1


# Words that change nothing in a statement otherwise the same; “is” and “was”, “to” and “from”, “he” and “she” do.
_LIGHT = word_list(
    """
    a actually also am an and are as at be been being by do does for has have having in indeed into is it its just of on
    quite really so than that the then these this those to very which who with
    """
)


def _content_words(text: str) -> list[str]:
    """The words and numbers of a text in order, without those that change nothing."""
    wording = parse_wording(text)
    words = [token.key for token in wording.tokens if token.text not in _LIGHT]
    return [*words, "not"] if wording.negated else words


def _without_start(a: Wording, b: Wording) -> tuple[Wording, Wording]:
    """Two statements, without the “since January” that one of them ends with."""
    dated = [
        [token.key for token in one.tokens[-2:-1]] == ["since"] and one.tokens[-1].kind == "time" for one in (a, b)
    ]
    if dated[0] == dated[1]:
        return a, b
    first, second = (
        replace(one, tokens=one.tokens[:-2]) if cut else one for one, cut in zip((a, b), dated, strict=True)
    )
    return first, second


@dataclass(frozen=True)
class Slot:
    """Where two statements of one wording differ: what is around, and the two values."""

    before: tuple[Token, ...]
    values: tuple[tuple[Token, ...], tuple[Token, ...]]
    after: tuple[Token, ...]


def _find_slot(a: tuple[Token, ...], b: tuple[Token, ...]) -> Slot | None:
    """The one place where two statements differ, if each has something there that the other lacks."""
    shortest = min(len(a), len(b))
    start = next((i for i in range(shortest) if a[i].key != b[i].key), shortest)
    end = next((i for i in range(shortest - start) if a[-1 - i].key != b[-1 - i].key), shortest - start)
    first, second = a[start : len(a) - end], b[start : len(b) - end]
    if not (first and second) or {token.key for token in first} & {token.key for token in second}:
        return None
    return Slot(a[:start], (first, second), a[len(a) - end :])


def _slot_contradicts(slot: Slot) -> str:
    """Why the two values of a slot exclude each other; empty if they may both hold."""
    first, second = slot.values
    kinds = {token.kind for token in first + second}
    if len(first) == len(second) == 1:
        if _opposite(slot, first[0], second[0]):
            return OPPOSITE
        one_kind = next(iter(kinds)) if len(kinds) == 1 else ""
        if one_kind == "time":
            return "another date" if _times_exclude(slot) else ""
        if one_kind == "quantity" or (one_kind == "number" and _counts(slot)):
            return "another number" if _measures_one_thing(slot) else ""
        if kinds <= {"number", "ordinal", "code"}:
            return "another number" if _labels_exclude(slot) else ""
    if kinds <= {"word", "code", "number"} and max(len(first), len(second)) <= MAX_VALUE_WORDS:
        return DIFFERENT_VALUE if _words_exclude(slot) else ""
    return ""


def _verb_index(tokens: tuple[Token, ...]) -> int | None:
    """The index of the last verb in the present, the one that governs what follows; None if none is certain."""
    for index in range(len(tokens) - 1, -1, -1):
        if _is_verb(tokens, index):
            return index
        if tokens[index].key == ".":
            return None
    return None


def _is_verb(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether a token is a verb in the present: an auxiliary, “runs”, or “run” after a plural or “I”."""
    token = tokens[index]
    if token.kind != "word" or token.proper or token.text in ("was", "were", "had", "did", "been", "being"):
        return False
    if token.key in ("be", "have", "can", "must", "should"):
        return True
    if token.key not in predicates.VERBS:
        return False
    before = tokens[index - 1] if index else None
    if token.text != token.key:
        # A noun: “the runs”, “her plans”, “orders 5512”.
        noun = token.article or (before is not None and before.text in ("'s", *_POSSESSIVES, *PREPOSITIONS))
        return not (
            noun or (index == 0 and tokens[1:2] and tokens[1].kind in ("number", "code") and _labels(tokens[1:]))
        )
    if before is None or token.article:
        return False
    return before.text in ("i", "we", "they", "you", "can", "must", "should") or (
        before.is_plain and before.text.endswith("s") and not before.text.endswith("ss")
    )


_POSSESSIVES = word_list("his her their my our your its whose")


def _labels(tokens: tuple[Token, ...]) -> bool:
    """Whether a number numbers the thing before it, counting nothing after it."""
    return len(tokens) < 2 or not tokens[1].is_plain or tokens[1].key in predicates.VERBS


def _counts(slot: Slot) -> bool:
    """Whether a number counts what comes after it: “two cats”, not “node 2”."""
    if not (slot.after and slot.after[0].is_plain):
        return False
    # “bus 14 leaves”: a number after its noun, before a verb.
    labelled = bool(slot.before) and slot.before[-1].is_plain and not _is_verb(slot.before, len(slot.before) - 1)
    return not (labelled and slot.after[0].key in predicates.VERBS)


def _is_approximate(slot: Slot) -> bool:
    """Whether a number is a bound or an estimate."""
    around = {token.text for token in (*slot.before[-2:], *slot.after[:2])}
    return bool(around & APPROXIMATIONS or {"least", "most"} & around)


def _measures_one_thing(slot: Slot) -> bool:
    """Whether a quantity is what its subject has, costs or lasts now, not part of an event or a bound."""
    index = _verb_index(slot.before)
    # “a 5 mm screw” is one of many.
    if index is None or _is_approximate(slot) or any(value[0].article == "a" for value in slot.values):
        return False
    verb, between = slot.before[index], slot.before[index + 1 :]
    # What somebody can do once they can do twice.
    if verb.key == "can" or (index and slot.before[index - 1].key == "can"):
        return False
    events = [token for token in between if _is_participle(token)]
    # “is set to 19 degrees” is a state, “has lost 5 kg” an event.
    return not events or verb.key in ("be", "must", "should")


def _is_participle(token: Token) -> bool:
    return token.kind == "word" and ((token.text.endswith("ed") and len(token.text) > 4) or token.text in _PARTICIPLES)


_PARTICIPLES = word_list(
    """
    become been begun bought broken brought built caught chosen come cut done drawn driven drunk eaten fallen fed felt
    found fought flown gone got given grown heard held kept known left lent lost made meant met paid put read ridden run
    said seen sent slept sold spent spoken stood stolen swum taken taught thrown told won worn written
    """
)


def _times_exclude(slot: Slot) -> bool:
    """Whether two times of one thing exclude each other: its date or its hour, not the days it recurs on."""
    first, second = (time_parts(value[0].key) for value in slot.values)
    differing = {name for name in first.keys() & second.keys() if first[name] != second[name]}
    if not differing or ({"weekday", "time"} <= differing):
        return False
    words = slot.before
    while words and words[-1].text in PREPOSITIONS | {"next", "this", "every"}:
        words = words[:-1]
    if not words:
        return False
    last = words[-1]
    if slot.before[-1].text in ("by", "until", "till"):
        return _verb_index(slot.before) is not None
    if _is_verb(words, len(words) - 1):
        if last.key == "be":
            return len(words) > 1 and words[0].article != "a"
        return last.key in predicates.SCHEDULING or (last.key in predicates.OPENING and "weekday" not in differing)
    if last.text in predicates.SCHEDULED:
        return True
    # “was born in 1988”, “joined the company in May”
    once = [token for token in words[:1] if token.text in predicates.ONCE] or last.text in predicates.ONCE
    return bool(once)


def _labels_exclude(slot: Slot) -> bool:
    """Whether two numbers or codes are the one place, version or number of a thing: “runs on node 7”."""
    words = slot.before
    noun = len(words)
    while noun and len(words) - noun < 3 and words[noun - 1].is_plain and not _is_verb(words, noun - 1):
        noun -= 1
    keys = tuple(token.key for token in words[:noun])
    index = _verb_index(words[:noun])
    if not keys or index is None:
        return False
    if noun == len(words):
        # “her locker number is 212”, “listens on 8080”
        if keys[-1] == "be":
            return len(keys) > 1
        return predicates.ends_with_phrase(keys, predicates.PLACING_PHRASES)
    value = slot.values[0][0].key
    if words[-1].proper or "." in value or words[-1].key == "version":
        versioned = words[index].key in predicates.VERSIONED and not any(map(_is_participle, words[index + 1 :]))
        if versioned or predicates.ends_with_phrase(keys, predicates.VERSIONED_PHRASES):
            return True
    return predicates.ends_with_phrase(keys, predicates.PLACING_PHRASES)


def _opposite(slot: Slot, one: Token, other: Token) -> bool:
    """Whether two words say the opposite of one thing: as its verb, or after “is”."""
    if not predicates.are_opposites(one.text, other.text) and not predicates.are_opposites(one.key, other.key):
        return False
    if not slot.before:
        return one.key in predicates.VERBS and other.text != other.key and bool(slot.after)
    last = slot.before[-1]
    if one.article or other.article:
        return False
    if last.key == "be" or last.key == "face":
        return not (slot.after and slot.after[0].is_plain and slot.after[0].text.endswith("s"))
    verbs = one.key in predicates.VERBS and other.key in predicates.VERBS and one.text != one.key
    return verbs and _verb_index(slot.before) is None


def _words_exclude(slot: Slot) -> bool:
    """Whether two values in words are the one value of an attribute: where somebody lives, whom they report to."""
    before = slot.before
    while before and before[-1].text in _POSSESSIVES:
        before = before[:-1]
    # In “works as a head nurse” the first word is no value of its own.
    modifier = bool(slot.after) and slot.after[0].is_plain and before[-1:] and before[-1].key != "prefer"
    if not before or modifier or not are_comparable_values(*slot.values):
        return False
    keys = tuple(token.key for token in before)
    if predicates.ends_with_phrase(keys, predicates.SINGLE_VALUED_PHRASES):
        return _holds_now(before)
    if before[-1].key == "prefer":
        return bool(slot.after) and slot.after[0].is_plain
    return before[-1].key == "be" and before[-1].text not in ("was", "were") and _is_attribute(before[:-1], slot)


def _holds_now(before: tuple[Token, ...]) -> bool:
    """Whether the phrase that ends here is in the present: “lives in”, “is led by”, “was born in”."""
    if before[-2:-1] and before[-2].text == "born":
        return True
    participle = max((index for index, token in enumerate(before) if _is_participle(token)), default=None)
    if participle is None:
        index = _verb_index(before)
        return index is not None and index >= len(before) - 3
    if participle == 0:
        # “Married to Jun”, but not “called Jun” or “employed Jun”.
        return len(before) > 1
    return _is_verb(before, participle - 1) and before[participle - 1].key == "be"


def _is_attribute(subject: tuple[Token, ...], slot: Slot) -> bool:
    """Whether a subject is an attribute with one value: a name, a status, “the default branch”, “her manager”."""
    texts = [token.text for token in subject]
    head = (texts.index("of") if "of" in texts else len(texts)) - 1
    if head < 0 or texts[head] != subject[head].key or subject[head].kind != "word":
        return False
    if slot.after:
        return False
    if texts[head] in predicates.OFFICES:
        return all(value[0].proper for value in slot.values)
    if texts[head] in predicates.ATTRIBUTES:
        return len(texts) > 1
    return any(text in predicates.SINGULAR_MODIFIERS for text in texts[:head])


def are_comparable_values(first: tuple[Token, ...], second: tuple[Token, ...]) -> bool:
    """Whether two values are of one kind and neither is part of the other, its abbreviation or its misspelling."""
    texts = [[token.text for token in value] for value in (first, second)]
    if first[0].proper != second[0].proper or any({"and", "or"} & set(words) for words in texts):
        return False
    if any(token.text in PRONOUNS or token.text in PREPOSITIONS for token in (*first, *second)):
        return False
    if (texts[0][-1] in predicates.REGIONS) != (texts[1][-1] in predicates.REGIONS):
        return False
    return not _may_be_one(*(" ".join(words) for words in texts))


def _may_be_one(one: str, other: str) -> bool:
    """Whether two names may be of one thing: one contains, abbreviates or misspells the other."""
    first, second = one.split(), other.split()
    if set(first) <= set(second) or set(second) <= set(first):
        return True
    for name, words in ((one, second), (other, first)):
        if len(words) > 1 and name.startswith("".join(word[0] for word in words)) and len(name) <= len(words) + 1:
            return True
    return min(len(one), len(other)) > 4 and SequenceMatcher(None, one, other).ratio() >= MIN_MISSPELLING


def _triple_contradicts(one: FactStatement, other: FactStatement, a: Wording, b: Wording) -> bool:
    """Whether two triples give one attribute two values, and the texts name no two things of that subject."""
    if not _values_differ(one, other) or not predicates.is_single_valued(one.predicate):
        return False
    first, second = normalize(one.object), normalize(other.object)
    regions = (first in predicates.REGIONS) != (second in predicates.REGIONS)
    return not (_may_be_one(first, second) or regions or names_another_thing(a, b))


def names_another_thing(a: Wording, b: Wording) -> bool:
    """Whether what two statements are about is numbered differently: server 42 and server 43, invoices 7 and 8."""
    first, second = (_subject_labels(wording.tokens) for wording in (a, b))
    return bool(first - second and second - first)


_UNNAMED = word_list(
    """
    he she it they his her hers its their theirs this that these those one ones another some somebody someone something
    anybody anyone anything
    """
)


def _names_subject(tokens: tuple[Token, ...]) -> bool:
    """Whether a statement says what it is about, so that another in the same words is about the same thing."""
    verb = next((index for index in range(len(tokens)) if _is_verb(tokens, index)), None)
    subject = tokens[: 3 if verb is None else verb]
    indefinite = any(token.article == "a" for token in (subject[:1] if verb is None else subject))
    return not indefinite and not any(token.text in _UNNAMED for token in subject)


def _subject_labels(tokens: tuple[Token, ...]) -> set[str]:
    """The numbers and codes before the verb."""
    verb = next((index for index in range(len(tokens)) if _is_verb(tokens, index) or tokens[index].text == "was"), 0)
    return {token.key for token in tokens[:verb] if token.kind in ("number", "code", "ordinal")}


def _relation_reversed(a: tuple[Token, ...], b: tuple[Token, ...]) -> bool:
    """Whether two statements swap the sides of a relation that holds one way: manages, is older than."""
    first, second = [token.key for token in a], [token.key for token in b]
    if first == second or sorted(first) != sorted(second):
        return False
    start = next(i for i in range(len(first)) if first[i] != second[i])
    end = next(i for i in range(len(first)) if first[-1 - i] != second[-1 - i])
    stop = len(first) - end
    middle, swapped = first[start:stop], second[start:stop]
    for left in range(1, len(middle) - 1):
        for right in range(1, len(middle) - left):
            between = middle[left : len(middle) - right]
            if swapped == middle[len(middle) - right :] + between + middle[:left]:
                return _is_asymmetric(a[:start], a[start + left : stop - right], a[stop:])
    return False


def _is_asymmetric(before: tuple[Token, ...], relation: tuple[Token, ...], after: tuple[Token, ...]) -> bool:
    """Whether a relation between the subject of a statement and another thing cannot hold both ways."""
    keys, texts = [token.key for token in relation], [token.text for token in relation]
    if texts in (["to"], ["over"]):
        return bool(before) and before[-1].key == "prefer"
    if before or (after and after[0].is_plain):
        return False
    if keys[0] in predicates.ASYMMETRIC_VERBS or (keys[0] == "be" and texts[-1] == "than"):
        return True
    if keys[0] != "be" or len(keys) > MAX_VALUE_WORDS:
        return False
    # “is led by”, “is the mother of”, “is Mila's mother”
    owned = after[1].text if len(after) > 1 and after[0].key == "'s" else ""
    passive = texts[-1] == "by" and texts[1] in predicates.ASYMMETRIC_VERBS
    return (
        passive
        or (texts[-1] == "of" and texts[-2] in predicates.ASYMMETRIC_NOUNS)
        or owned in predicates.ASYMMETRIC_NOUNS
    )
