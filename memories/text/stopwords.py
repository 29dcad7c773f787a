"""Word lists for finding names: stop words, calendar words, particles, titles, legal forms."""


def parse_words(text: str) -> frozenset[str]:
    """A word list, separated by white space."""
    return frozenset(text.split())


WEEKDAYS = parse_words("monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri")
MONTHS = parse_words(
    "january february march april may june july august september october november december"
    " jan feb mar apr jun jul aug sep sept oct nov dec"
)
HOLIDAYS = parse_words("christmas easter halloween hanukkah midsummer passover ramadan thanksgiving diwali eve")
CALENDAR_WORDS = WEEKDAYS | {f"{day}s" for day in WEEKDAYS} | MONTHS

FUNCTION_WORDS = parse_words(
    """
    a about above after again against all almost alone along already also although always am an and another any anybody
    anyone anything are around as at away back be because been before behind being below between both but by can cannot
    could did do does doing done down during each either else enough even ever every everybody everyone everything few
    for from further had has have having he hence her here hers herself him himself his how however i if in indeed
    instead into is it its itself just last later least less let many may maybe me meanwhile might mine more moreover
    most much must my myself near neither never next no nobody none nor not nothing now of off often on once one only
    onto or other others otherwise our ours ourselves out over own perhaps please possibly probably quite rather really
    same several shall she should since so some somebody someone something sometimes soon still such than that the their
    theirs them themselves then there therefore these they this those though through thus till to today together
    tomorrow tonight too toward towards two twice under unless until up upon us usually very was we were what whatever
    when whenever where wherever whether which while who whoever whom whose why will with within without would yes
    yesterday yet you your yours yourself yourselves
    """
)
# First words of messages and of notes without a subject.
OPENERS = parse_words(
    """
    actually add ahead alas anyway apparently ask avoid avoids basically bring bye call check cheers congrats
    congratulations dear email eventually exactly finally find first fine forget generally get give given go gone good
    got great guess haha hello hey hi hmm hopefully hm keep know likes looks lol make meet mind morning nope ok okay
    oh ping prefers remember remind right sadly say second see send show sorry sure take talk tell thank thanks third
    tries uh um understood unfortunately use uses wait wants welcome well wow write wrote yeah yep
    cant dont im isnt ive wasnt wont
    """
)

# "Black Friday" is a name, "told Maya Friday" is not.
NAMED_DAYS = parse_words("ash black bloody cyber easter giving holy maundy palm super")
# Lower-case words within a name, never at its ends.
PARTICLES = parse_words("af al av bin d da das de del della der di do dos du el ibn la le ter ten van von y zu zum")
TITLES = parse_words("dr fr frau herr hr lady lord m madame miss mme mr mrs ms mx prof professor sir st")
# A sentence-initial word before one of these verbs is a name.
PERSON_VERBS = parse_words(
    """
    asked asks believes bought called calls came grew hates heard hired joined joins knows lead leads left likes lives
    loves made makes manages married met moved needs offered owns plans prefers promised recommended reports resigned
    runs said says sent showed studies suggested taught teaches tells thinks told took visited wants went works wrote
    """
)
STOP_WORDS = FUNCTION_WORDS | OPENERS | PERSON_VERBS | CALENDAR_WORDS

LEGAL_FORMS = parse_words("ab ag as bv co company corp corporation gmbh inc kg llc llp ltd nv oy plc sa sarl srl")
