"""Predicates by how many values they allow at a time: a person lives in one place, but likes many things."""

from collections.abc import Sequence
from functools import cache

from scoring.dedup import normalize
from scoring.wording import lemma, word_list

# Attributes of which a thing has one value at a time.
ATTRIBUTES = frozenset(
    [
        "address",
        "age",
        "birthday",
        "birthplace",
        "budget",
        "capital",
        "cost",
        "currency",
        "deadline",
        "e mail",
        "email",
        "employer",
        "gender",
        "headquarters",
        "height",
        "home town",
        "hometown",
        "job",
        "job title",
        "location",
        "marital status",
        "name",
        "nationality",
        "password",
        "phone",
        "phone number",
        "price",
        "priority",
        "rank",
        "residence",
        "role",
        "salary",
        "severity",
        "size",
        "state",
        "status",
        "surname",
        "time zone",
        "timezone",
        "title",
        "type",
        "username",
        "venue",
        "version",
        "weight",
    ]
)
# Attributes whose one value is a person or an organisation: “her manager is ill” gives none.
OFFICES = word_list(
    """
    boss chair chairman chairwoman ceo cfo coach cto director father fiancé fiancée head husband landlady landlord
    lead leader maintainer manager mayor mother owner partner president principal spouse supervisor wife
    """
)
# Phrases whose last word is followed by the one value of their subject.
SINGLE_VALUED_PHRASES = frozenset(
    [
        "based in",
        "born in",
        "born on",
        "called",
        "due on",
        "employed by",
        "headed by",
        "headquartered in",
        "hosted by",
        "hosted on",
        "led by",
        "lives at",
        "lives in",
        "located in",
        "managed by",
        "married to",
        "named",
        "owned by",
        "reports to",
        "resides in",
        "runs version",
        "starts at",
        "starts on",
        "stored in",
        "takes place at",
        "takes place in",
        "works as",
        "works at",
        "works for",
        "written in",
    ]
)
SINGLE_VALUED = ATTRIBUTES | OFFICES | SINGLE_VALUED_PHRASES
# Phrases that place or number a thing: followed by a room, a gate, a node or a code, of which there is one.
PLACING_PHRASES = frozenset(
    [
        "arrive at",
        "be at",
        "be in",
        "be on",
        "be tracked as",
        "be tracked under",
        "be registered as",
        "be registered under",
        "be stored on",
        "depart from",
        "hold in",
        "leave from",
        "listen on",
        "live at",
        "live in",
        "live on",
        "run on",
        "sit at",
        "sit in",
        "sit on",
        "start from",
        "take place in",
        "take place at",
        "take place on",
    ]
)
# Verbs whose object is one version of a product.
VERSIONED = word_list("need require run target use")
VERSIONED_PHRASES = frozenset(["be", "be at", "be on", "built on", "built with", "based on", "locked to", "pinned to"])
# Verbs that give a thing its one time, and participles that do so after “is”.
SCHEDULING = word_list("begin end expire finish launch start stop wake")
OPENING = word_list("close open")  # once a day, so on several days of the week
SCHEDULED = word_list("due expected planned scheduled set")
# Verbs of what happens to a thing once.
ONCE = word_list("born died established founded graduated incorporated joined retired")
# What makes an attribute the only one of its kind.
SINGULAR_MODIFIERS = word_list("current default favorite favourite main maiden native official only preferred primary")
# Relations that cannot hold both ways: verbs with their object, and what one is to another.
ASYMMETRIC_VERBS = word_list(
    """
    acquire acquired coach contain contained employ employed found founded govern head inherit lead led manage managed
    mentor mentored outrank outranks own owned precede preceded report supervise supervised taught teach
    """
)
ASYMMETRIC_NOUNS = OFFICES | word_list(
    """
    apprentice aunt child daughter descendant employee grandchild granddaughter grandfather grandmother grandson heir
    intern mentor nephew niece parent predecessor pupil son stepfather stepmother student subsidiary successor teacher
    uncle
    """
)
# Values that exclude each other, beside those with “un-”, “dis-” and the like.
_EXCLUSIVE = """
    absent present | accept reject | accepted rejected | active inactive | allow forbid | allowed forbidden | alive dead
    | asleep awake | ascending descending | clockwise anticlockwise | compulsory optional voluntary | dry wet
    | empty full | enable disable | enabled disabled | encourage discourage | fail pass | failing passing | false true
    | female male | gain lose | hate like love dislike | include exclude | included excluded | left right
    | left-handed right-handed | mandatory optional voluntary | north south east west | off on | offline online
    | closed open shut | permanent temporary | private public | synchronous asynchronous | vacant occupied
    | vertical horizontal diagonal | married single divorced widowed | low medium high | small medium large
    | down up | pending shipped delivered returned cancelled | running stopped finished | approved rejected pending
    | black white red green blue yellow orange purple violet pink brown grey gray silver golden beige turquoise
    """
EXCLUSIVE_VALUES = tuple(word_list(words) for words in _EXCLUSIVE.split("|"))
# These differ in degree only.
_AGREEING = (word_list("like love"), word_list("dislike hate"), word_list("gray grey"), word_list("closed shut"))
_NEGATIVE_PREFIXES = ("un", "dis", "in", "im", "il", "ir", "non-", "non")
# Verbs of states, habits and measures, by which the subject of a statement is told from what is said of it.
VERBS = word_list(
    """
    accept add allow answer appear apply arrive ask attend avoid bake become begin believe belong bill block borrow
    bring build buy call carry catch cause celebrate change charge check choose clean climb close coach collect come
    complete consist contain cook cost count cover create cycle dance deal decide deliver demand depart depend deploy
    design dislike donate draw drink drive earn eat employ enable end enjoy enter exclude exercise expect expire export
    face fail feed feel fill find finish fit fly follow forget forward gain get give go grow handle hate head hear help
    hire hold host import include install invest join jog keep know last launch lead learn leave lend let lie like
    limit listen live load lose love maintain make manage mean measure meet miss move name need occur offer open
    operate order own paint park pass pay perform plan play practise prefer prepare produce protect provide publish
    pull push put read receive recommend record refuse reject rely remain rent repair replace report require reside
    rest return ride rise rotate run save say see sell send serve share ship show sing sit ski sleep smell smoke
    sound speak spend stand start stay stop store study subscribe suffer supervise supply support swim take talk target
    teach tell test think throw train travel treat trust try turn understand update use value visit wait wake walk want
    warn wash watch wear weigh win work write
    """
)
# The continents and countries, of which a place is a part: living in Porto and in Portugal agree.
REGIONS = word_list(
    """
    africa america antarctica asia australia europe oceania afghanistan albania algeria andorra angola argentina
    armenia austria azerbaijan bahamas bahrain bangladesh barbados belarus belgium belize benin bhutan bolivia
    bosnia botswana brazil britain brunei bulgaria burundi cambodia cameroon canada chad chile china colombia
    congo croatia cuba cyprus czechia denmark dominica ecuador egypt england eritrea estonia eswatini ethiopia
    fiji finland france gabon gambia georgia germany ghana greece greenland grenada guatemala guinea guyana
    haiti honduras hungary iceland india indonesia iran iraq ireland israel italy jamaica japan jordan
    kazakhstan kenya kiribati korea kosovo kuwait kyrgyzstan laos latvia lebanon lesotho liberia libya
    liechtenstein lithuania luxembourg madagascar malawi malaysia maldives mali malta mauritania mauritius
    mexico moldova monaco mongolia montenegro morocco mozambique myanmar namibia nauru nepal netherlands
    nicaragua niger nigeria norway oman pakistan palau palestine panama paraguay peru philippines poland
    portugal qatar romania russia rwanda samoa scotland senegal serbia seychelles singapore slovakia slovenia
    somalia spain sudan suriname sweden switzerland syria taiwan tajikistan tanzania thailand togo tonga tunisia
    turkey turkmenistan tuvalu uganda uk ukraine uruguay us usa uzbekistan vanuatu venezuela vietnam wales yemen
    zambia zimbabwe california texas florida ontario quebec bavaria saxony catalonia andalusia lombardy tuscany
    scandinavia
    """
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


def are_opposites(one: str, other: str) -> bool:
    """Whether two words exclude each other.

    >>> are_opposites("locked", "unlocked"), are_opposites("public", "private"), are_opposites("red", "round")
    (True, True, False)
    """
    shorter, longer = sorted((one, other), key=len)
    prefixed = len(shorter) > 2 and any(longer == prefix + shorter for prefix in _NEGATIVE_PREFIXES)
    pair = {one, other}
    exclusive = any(pair <= values for values in EXCLUSIVE_VALUES) and not any(pair <= words for words in _AGREEING)
    return prefixed or (one != other and exclusive)


def ends_with_phrase(keys: Sequence[str], phrases: frozenset[str]) -> bool:
    """Whether the last words are one of some phrases.

    >>> ends_with_phrase(("omar", "work", "at"), SINGLE_VALUED_PHRASES)
    True
    """
    return any(tuple(keys[-length:]) in _split_phrases(phrases) for length in (1, 2, 3))


@cache
def _split_phrases(phrases: frozenset[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(lemma(word) for word in phrase.split()) for phrase in phrases)
