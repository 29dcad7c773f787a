"""Redaction of secrets in a text: keys, card numbers, IBANs and e-mail addresses.

Every pattern runs in linear time: repeats are possessive, and after a long failed match the next starts behind it.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from memories.text.payment_numbers import card_spans, iban_spans

_LABEL = r"[A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
# By a substring every match contains; texts without it skip the search.
KEY_PATTERNS = {
    marker: re.compile(pattern)
    for marker, pattern in {
        # Without an end marker, as much as looks like a key.
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
_URL_PASSWORD = re.compile(r"(?<=://)([^\s:/@\[\]]{0,200}+:)[^\s/@\[\]]{1,200}+(?=@)")
_SECRET_NAMES = re.compile("pass|pwd|secret|token|credential|authorization|key", re.IGNORECASE)
_ASSIGNED_SECRET = re.compile(
    r"(?<![a-z0-9])"
    r"((?:pass(?:word|wd|phrase|code)|pwd|secret|token|credential|authorization|(?:api|access|auth)[ _-]?key)"
    r"(?:[_-](?:key|token|value))?[\"']?\s{0,3}(?::?=|:|\bis\b)\s{0,3}(?:(?:bearer|basic)\s)?[\"']?)"
    r"([^\s\"'`,;<>()\[\]]{8,}+)",
    re.IGNORECASE,
)
# = and / are allowed in an address, but far more often precede one.
_LOCAL = r"[\w.!#$%&*+?^~-]"
_EMAIL = re.compile(rf"(?:(?<!{_LOCAL}){_LOCAL}++|['/=`{{|}}])@([\w-]++(?:\.[\w-]++)++)")
_TOP_LEVEL = re.compile(r"[^\W\d_]{2,}|xn--[\w-]+", re.IGNORECASE)
MIN_ENTROPY = 2.5  # bits per character; below that a value is a word rather than a secret


def redact_text(text: str) -> tuple[str, Counter[str]]:
    """The redacted text, and the number of secrets by kind.

    >>> redact_text("Mail maya@example.com, card 4111 1111 1111 1111")
    ('Mail [e-mail], card [card number]', Counter({'card number': 1, 'e-mail': 1}))
    """
    counts: Counter[str] = Counter()
    previous = None
    # Removing a secret may expose an adjacent one: “4111111111111111sk-…”.
    while text != previous:
        previous = text
        for redactor in REDACTORS:
            text = redactor(text, counts)
    return text, counts


def redact_value(value: Any, counts: Counter[str]) -> Any:
    """Redact nested lists and objects, including keys and integers."""
    if isinstance(value, str):
        text, text_counts = redact_text(value)
        counts.update(text_counts)
        return text
    if isinstance(value, int) and not isinstance(value, bool):
        text, text_counts = redact_text(str(value))
        counts.update(text_counts)
        return text if text_counts else value
    if isinstance(value, list | tuple):
        return type(value)(redact_value(item, counts) for item in value)
    if isinstance(value, dict):
        return dict(
            _number_duplicates((redact_value(name, counts), redact_value(item, counts)) for name, item in value.items())
        )
    return value


def _number_duplicates(pairs: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Number keys that became equal, so that no value is lost."""
    seen: Counter[str] = Counter()
    for name, value in pairs:
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name} {seen[name]}"), value


def redact_keys(text: str, counts: Counter[str]) -> str:
    """Redact keys of known formats, passwords in URLs, and values assigned to password-like names."""
    for marker, pattern in KEY_PATTERNS.items():
        if marker in text:
            text = pattern.sub(lambda _: _placeholder("key", counts), text)
    if "://" in text:
        text = _URL_PASSWORD.sub(lambda match: match[1] + _placeholder("key", counts), text)
    if _SECRET_NAMES.search(text):
        text = _ASSIGNED_SECRET.sub(lambda match: match[1] + _redact_assigned(match[2], counts), text)
    return text


def _redact_assigned(value: str, counts: Counter[str]) -> str:
    stripped = value.rstrip(".!?:")
    looks_secret = re.search(r"\d", stripped) and re.search(r"[^\W\d_]", stripped) and "://" not in stripped
    if len(stripped) < 8 or not looks_secret or entropy(stripped) < MIN_ENTROPY:
        return value
    return _placeholder("key", counts) + value[len(stripped) :]


def entropy(text: str) -> float:
    """Shannon entropy in bits per character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def redact_payments(text: str, counts: Counter[str]) -> str:
    """Redact card and account numbers."""
    for kind, spans in (("account number", iban_spans), ("card number", card_spans)):
        parts, end = [], 0
        for start, stop in spans(text):
            parts += [text[end:start], _placeholder(kind, counts)]
            end = stop
        text = "".join([*parts, text[end:]])
    return text


def redact_emails(text: str, counts: Counter[str]) -> str:
    """Redact e-mail addresses; `package@1.2.3` is none."""
    return _EMAIL.sub(lambda match: _redact_email(match, counts), text) if "@" in text else text


def _redact_email(match: re.Match[str], counts: Counter[str]) -> str:
    labels = match[1].split(".")
    while len(labels) > 1 and not _TOP_LEVEL.fullmatch(labels[-1]):
        labels.pop()
    if len(labels) == 1:
        return match[0]
    return _placeholder("e-mail", counts) + match[1][len(".".join(labels)) :]


REDACTORS: tuple[Callable[[str, Counter[str]], str], ...] = (redact_keys, redact_payments, redact_emails)


def _placeholder(kind: str, counts: Counter[str]) -> str:
    counts[kind] += 1
    return f"[{kind}]"
