"""The type of a stored statement by the extractor's patterns, which read the first person; empty if they do not say."""

import re
from collections import defaultdict

from memories.models.choices import MemoryType
from memories.text.extraction_patterns import DEFINITION, EVENT_VERBS, STATEMENT_PATTERNS, match_statement
from memories.text.verbs import ADVERBS, IRREGULAR, third_person_verb
from scoring.predicates import normalize_predicate

FIRST_FORMS = {third: first for first, third in IRREGULAR.items() if first not in ("are", "been")} | {"is": "am"}
# Who a statement begins with: a person by name or as the user, but nobody in general.
SUBJECT = re.compile(
    r"^(?!(?:Nobody|Everybody|Everyone|Someone|Somebody|No|The|A|An|This|That|It|There)\b(?! (?:user|speaker)\b))"
    r"(?:The (?:user|speaker)|User|He|She|They|[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2})(?P<others> and others)? "
)
OWNER = re.compile(r"\b(?:their|his|her)\b")


def known_predicates() -> dict[str, MemoryType]:
    """The predicates that the patterns give to statements of one type only."""
    types = defaultdict(set)
    for _, type, predicate in STATEMENT_PATTERNS:
        if predicate and "{" not in predicate:
            types[normalize_predicate(predicate)].add(type)
    return {predicate: next(iter(found)) for predicate, found in types.items() if len(found) == 1}


PREDICATE_TYPES = known_predicates()


def statement_type(content: str, subject: str, predicate: str) -> MemoryType | None:
    """The type of a statement in the third person; None if the rules do not decide.

    >>> texts = "Maya really likes sailing", "Maya visited Oslo", "Tern is a ship"
    >>> [str(statement_type(text, "Maya", "")) for text in texts]
    ['Preference', 'Event', 'Entity']
    >>> statement_type("Maya hums while parking", "Maya", "") is None
    True
    """
    if (type := PREDICATE_TYPES.get(normalize_predicate(predicate))) is not None:
        return type
    sentence = in_first_person(content, subject)
    if parsed := match_statement(sentence, dated=False):
        return parsed.type
    words = [word for word in re.findall(r"[\w'’]+", sentence)[1:] if word.casefold() not in ADVERBS]
    if sentence.startswith(("I ", "we ")) and words and EVENT_VERBS.fullmatch(words[0]):
        return MemoryType.EVENT
    return MemoryType.ENTITY if DEFINITION.match(content) else None


def in_first_person(content: str, subject: str) -> str:
    """A statement as its subject would make it; one that begins with its verb gets “I”."""
    text, named = content.strip(), re.escape(subject.strip())
    if subject.strip():
        text = re.sub(rf"\b{named}['’]s?(?!\w)", "my", text, flags=re.IGNORECASE)
        text = re.sub(rf"^{named}(?= )", "The user", text, flags=re.IGNORECASE)
    match = None if is_third_person(first_verb(text)) else SUBJECT.match(text)
    rest = text[match.end() :] if match else text
    if not (is_third_person(first_verb(rest)) or EVENT_VERBS.fullmatch(first_verb(rest))):
        return text
    pronoun = "we" if match and match["others"] else "I"
    return f"{pronoun} {to_first_person(OWNER.sub('my', rest))}"


def first_verb(text: str) -> str:
    """The first word that is no adverb."""
    return next((word for word in re.findall(r"[\w'’]+", text) if word.casefold() not in ADVERBS), "")


def is_third_person(verb: str) -> bool:
    """Whether a word is the third person of another."""
    lowered = verb.casefold()
    return lowered in FIRST_FORMS or third_person_verb(base_form(lowered)) == lowered


def base_form(verb: str) -> str:
    """The form of the first person.

    >>> [base_form(verb) for verb in ("likes", "watches", "tries", "has", "is", "visited")]
    ['like', 'watch', 'try', 'have', 'am', 'visited']
    """
    if verb in FIRST_FORMS:
        return FIRST_FORMS[verb]
    endings = (("ies", "y"), ("es", ""), ("s", ""))
    bases = (verb.removesuffix(ending) + base for ending, base in endings if verb.endswith(ending))
    return next((base for base in bases if third_person_verb(base) == verb), verb)


def to_first_person(text: str) -> str:
    """A clause with its first verb in the first person."""
    verb = first_verb(text)
    return text.replace(verb, base_form(verb.casefold()), 1) if verb else text
