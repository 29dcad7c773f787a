"""Predicates that hold one value at a time: a person lives in one place, but likes many things."""

from scoring.dedup import normalize

SINGLE_VALUED = frozenset(
    [
        "age",
        "based in",
        "birthday",
        "born in",
        "born on",
        "capital",
        "deadline",
        "due on",
        "e mail",
        "email",
        "employed by",
        "employer",
        "gender",
        "headquartered in",
        "home town",
        "hosted on",
        "job",
        "job title",
        "lives at",
        "lives in",
        "located in",
        "manager",
        "married to",
        "marital status",
        "name",
        "owned by",
        "owner",
        "phone",
        "phone number",
        "price",
        "reports to",
        "residence",
        "role",
        "runs version",
        "salary",
        "starts at",
        "starts on",
        "state",
        "status",
        "time zone",
        "timezone",
        "version",
        "works at",
        "works for",
    ]
)


def spoken(predicate: str) -> str:
    """A predicate in plain words, whichever way it is joined.

    >>> spoken("Lives_In"), spoken("reports-to")
    ('lives in', 'reports to')
    """
    return normalize(predicate.replace("_", " ").replace("-", " "))


def single_valued(predicate: str) -> bool:
    """Whether another value for the same subject contradicts, however little the two sentences are alike.

    >>> single_valued("lives_in"), single_valued("likes")
    (True, False)
    """
    return spoken(predicate) in SINGLE_VALUED


def spellings(predicate: str) -> set[str]:
    """The ways in which a stored predicate may be joined."""
    words = predicate.replace("_", " ").replace("-", " ")
    return {predicate, words, words.replace(" ", "_"), words.replace(" ", "-")}
