"""Blacks out secrets in a text: keys, card numbers, account numbers and e-mail addresses.

Every pattern is linear: its repeats are possessive, and where a failed try may be long, the next one begins after it.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from memories.language.payment import cards, ibans

_LABEL = r"[A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
# By what they all hold, so that a text without it is not searched.
SHAPES = {
    mark: re.compile(shape)
    for mark, shape in {
        # Where the end is missing, as much as looks like a key.
        "-----BEGIN": rf"-----BEGIN {_LABEL}"
        rf"(?:(?:[^-]|-(?!----))*+-----END {_LABEL}|(?:\s*+[A-Za-z0-9+/=]{{16,}}+)*+)",
        "AKIA": r"AKIA[0-9A-Z]{16}",  # AWS
        "ASIA": r"ASIA[0-9A-Z]{16}",
        "AIza": r"AIza[\w-]{35}",  # Google
        "gh": r"(?<![\w-])gh[oprsu]_\w{30,}+",  # GitHub
        "github_pat_": r"(?<![\w-])github_pat_\w{20,}+",
        "glpat-": r"(?<![\w-])glpat-[\w-]{16,}+",  # GitLab
        "xox": r"(?<![\w-])xox[a-z]-[\w-]{10,}+",  # Slack
        "k_": r"(?<![\w-])(?:[prs]k_(?:live|test)_\w{10,}+|rk_[\w-]{32,}+)",  # Stripe, Recall
        "hf_": r"(?<![\w-])hf_\w{30,}+",  # Hugging Face
        "sk-": r"(?<![\w-])sk-(?=[\w-]*\d)[\w-]{20,}+",  # OpenAI, Anthropic
        "eyJ": r"(?<![\w.-])eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]*+",  # JSON Web Token
    }.items()
}
_IN_ADDRESS = re.compile(r"(?<=://)([^\s:/@\[\]]{0,200}+:)[^\s/@\[\]]{1,200}+(?=@)")
_CALLED = re.compile("pass|pwd|secret|token|credential|authorization|key", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"(?<![a-z0-9])"
    r"((?:pass(?:word|wd|phrase|code)|pwd|secret|token|credential|authorization|(?:api|access|auth)[ _-]?key)"
    r"(?:[_-](?:key|token|value))?[\"']?\s{0,3}(?::?=|:|\bis\b)\s{0,3}(?:(?:bearer|basic)\s)?[\"']?)"
    r"([^\s\"'`,;<>()\[\]]{8,}+)",
    re.IGNORECASE,
)
# Signs such as = and / are allowed in an address, but stand far oftener before one.
_LOCAL = r"[\w.!#$%&*+?^~-]"
_EMAIL = re.compile(rf"(?:(?<!{_LOCAL}){_LOCAL}++|['/=`{{|}}])@([\w-]++(?:\.[\w-]++)++)")
_TOP_LEVEL = re.compile(r"[^\W\d_]{2,}|xn--[\w-]+", re.IGNORECASE)
GUESSABLE = 2.5  # bits a character, below which a value is rather a word than a secret


def redacted(text: str) -> tuple[str, Counter[str]]:
    """The text with its secrets blacked out, and how many there were of each kind.

    >>> redacted("Mail maya@example.com, card 4111 1111 1111 1111")
    ('Mail [e-mail], card [card number]', Counter({'card number': 1, 'e-mail': 1}))
    """
    found: Counter[str] = Counter()
    before = None
    # What stood next to a secret may be one as well: “4111111111111111sk-…”.
    while text != before:
        before = text
        for step in STEPS:
            text = step(text, found)
    return text, found


def redacted_deep(value: Any, found: Counter[str]) -> Any:
    """The same for all that lists and objects hold, names and whole numbers too."""
    if isinstance(value, str):
        text, here = redacted(value)
        found.update(here)
        return text
    if isinstance(value, int) and not isinstance(value, bool):
        text, here = redacted(str(value))
        found.update(here)
        return text if here else value
    if isinstance(value, list | tuple):
        return type(value)(redacted_deep(one, found) for one in value)
    if isinstance(value, dict):
        return dict(_apart((redacted_deep(name, found), redacted_deep(one, found)) for name, one in value.items()))
    return value


def _apart(pairs: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Names that became alike get a number, so that no value is lost."""
    seen: Counter[str] = Counter()
    for name, value in pairs:
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name} {seen[name]}"), value


def keys(text: str, found: Counter[str]) -> str:
    """Black out keys of known shapes, passwords in addresses, and what is called a password and looks like one."""
    for mark, shape in SHAPES.items():
        if mark in text:
            text = shape.sub(lambda _: _out("key", found), text)
    if "://" in text:
        text = _IN_ADDRESS.sub(lambda at: at[1] + _out("key", found), text)
    if _CALLED.search(text):
        text = _ASSIGNED.sub(lambda at: at[1] + _assigned(at[2], found), text)
    return text


def _assigned(value: str, found: Counter[str]) -> str:
    bare = value.rstrip(".!?:")
    secret = re.search(r"\d", bare) and re.search(r"[^\W\d_]", bare) and "://" not in bare
    if len(bare) < 8 or not secret or entropy(bare) < GUESSABLE:
        return value
    return _out("key", found) + value[len(bare) :]


def entropy(text: str) -> float:
    """Shannon's bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def payments(text: str, found: Counter[str]) -> str:
    """Black out card and account numbers."""
    for kind, places in (("account number", ibans), ("card number", cards)):
        parts, end = [], 0
        for start, stop in places(text):
            parts += [text[end:start], _out(kind, found)]
            end = stop
        text = "".join([*parts, text[end:]])
    return text


def emails(text: str, found: Counter[str]) -> str:
    """Black out e-mail addresses; `package@1.2.3` is none."""
    return _EMAIL.sub(lambda at: _email(at, found), text) if "@" in text else text


def _email(at: re.Match[str], found: Counter[str]) -> str:
    labels = at[1].split(".")
    while len(labels) > 1 and not _TOP_LEVEL.fullmatch(labels[-1]):
        labels.pop()
    if len(labels) == 1:
        return at[0]
    return _out("e-mail", found) + at[1][len(".".join(labels)) :]


STEPS: tuple[Callable[[str, Counter[str]], str], ...] = (keys, payments, emails)


def _out(kind: str, found: Counter[str]) -> str:
    found[kind] += 1
    return f"[{kind}]"
