"""Single-valued predicates: a person lives in one place, but likes many things."""

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


def normalize_predicate(predicate: str) -> str:
    """Canonical form of a predicate: words separated by spaces.

    >>> normalize_predicate("Lives_In"), normalize_predicate("reports-to")
    ('lives in', 'reports to')
    """
    return normalize(predicate.replace("_", " ").replace("-", " "))


def is_single_valued(predicate: str) -> bool:
    """Whether a different value for the same subject is a contradiction, however dissimilar the sentences.

    >>> is_single_valued("lives_in"), is_single_valued("likes")
    (True, False)
    """
    return normalize_predicate(predicate) in SINGLE_VALUED


def predicate_spellings(predicate: str) -> set[str]:
    """Spellings under which a predicate may be stored."""
    words = predicate.replace("_", " ").replace("-", " ")
    return {predicate, words, words.replace(" ", "_"), words.replace(" ", "-")}
