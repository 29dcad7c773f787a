"""English verb forms for rewriting in the third person."""

import re

from memories.text.stopwords import parse_words

MODAL = parse_words(
    "can could will would shall should may might must cannot can't couldn't won't wouldn't shouldn't mustn't"
)
# Verbs whose past does not end in -ed.
PAST = parse_words(
    """
    ate awoke beat became began bent bet bit blew bought bound bred broke brought built burnt burst came caught chose
    clung cost crept cut dealt did dreamt drank drew drove dug dwelt fed fell felt fled flew forbade forgave forgot
    fought found froze gave got grew ground had heard held hid hit hung hurt kept knelt knew laid lay led leapt learnt
    left lent let lit lost made meant met mistook overcame overheard paid pled proved put quit ran rang read rebuilt
    rode rose said sang sank sat saw sent set shook shone shot showed shut slept slid smelt sold sought spent spilt
    spoke spread sprang spun stole stood struck stuck stung swam swept swore swung taught thought threw told took tore
    undertook understood upset went was were woke won wore wound wove withdrew wrote weren't wasn't didn't hadn't
    """
)
ADVERBS = parse_words(
    """
    also always already actually absolutely almost barely certainly clearly completely constantly currently definitely
    deeply especially even eventually ever finally first fully generally genuinely gladly honestly hardly just kinda
    mainly mostly never nearly normally not now often once only personally probably rarely really recently regularly
    seldom simply sometimes soon sorta still strongly totally truly typically usually very
    """
)
IRREGULAR = {"have": "has", "do": "does", "go": "goes", "am": "is", "are": "is", "were": "was"}
IRREGULAR |= {"don't": "doesn't", "haven't": "hasn't", "aren't": "isn't", "weren't": "wasn't", "gotta": "has to"}
IRREGULAR |= {"wanna": "wants to", "gonna": "is going to", "ain't": "isn't", "been": "has been"}
SIBILANT = re.compile(r"(?:s|x|z|ch|sh|o)$")
CONSONANT_Y = re.compile(r"[^aeiou]y$")


def third_person_verb(verb: str) -> str:
    """The third person form of a verb.

    >>> [third_person_verb(verb) for verb in ("love", "watch", "try", "have", "don't", "went", "can", "played")]
    ['loves', 'watches', 'tries', 'has', "doesn't", 'went', 'can', 'played']
    """
    base = verb.casefold().replace("’", "'")
    if base in IRREGULAR:
        return IRREGULAR[base]
    if not is_present(base):
        return verb
    if CONSONANT_Y.search(base):
        return f"{verb[:-1]}ies"
    return f"{verb}{'es' if SIBILANT.search(base) else 's'}"


def is_present(verb: str) -> bool:
    """Whether a form is the plain present: no past, modal, adverb or participle."""
    if verb in PAST or verb in MODAL or verb in ADVERBS or not verb.isalpha():
        return False
    return not re.search(r"[^e]ed$|ing$|ly$", verb) or verb in (
        "bring",
        "sing",
        "swing",
        "rely",
        "apply",
        "fly",
        "reply",
    )


def plural_verb(verb: str) -> str:
    """The plural form of a verb.

    >>> [plural_verb(verb) for verb in ("am", "was", "love")]
    ['are', 'were', 'love']
    """
    return {"am": "are", "was": "were", "wasn't": "weren't"}.get(verb.casefold().replace("’", "'"), verb)
