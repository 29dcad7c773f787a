"""Greetings and pleasantries that carry no information."""

import re


def phrase_pattern(*phrases: str) -> re.Pattern[str]:
    """A pattern that matches any of the phrases as whole words."""
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE)


# Openings of a message before its content.
OPENING = (
    r"hey|hi|hiya|hello|yo|wow|whoa|woah|yeah|yea|yep|yup|yes+|yay|no|nope|nah|thanks|thank you|thx|oh|ooh|aw+|ah+|oof"
    r"|haha\w*|lol|hmm+|well|so|and|but|also|plus|cool|nice|great|awesome|amazing|sure|sure thing|ok|okay|anyways?|btw"
    "|by the way|actually|honestly|absolutely|definitely|totally|exactly|for sure|of course|no worries|no problem"
    "|congrats|congratulations|sorry|sadly|unfortunately|luckily|fortunately|guess what|i gotta say|i have to say"
    "|i must say|speaking of which|that being said|(?:good )?(?:morning|evening|afternoon)"
)
# The addressee's name may follow; without a comma, only words that never start a statement are stripped.
LEAD_IN = re.compile(
    rf"^(?:(?:{OPENING})(?:,? (?!I\b)(?-i:[A-Z][a-z]+))?[,!.:;–—-]+\s*"
    r"|(?:oh|wow|yeah|yea|yep|yup|haha|hmm+|yes+|aw+|well|but|and|plus|because)\s+)+",
    re.IGNORECASE,
)
# A closing question that hands the turn back.
RETURN_QUESTION = re.compile(
    r"\s*[,;–—-]+\s*(?:(?:how|what|and) (?:about )?you|right|you know|huh|don't you think|eh)\?+$", re.IGNORECASE
)
# The addressee's name at the end.
VOCATIVE = re.compile(r",\s+(?-i:[A-Z][a-z]+)(?=[!.…]*$)")
PLEASANTRY = phrase_pattern(
    r"thank(?:s| you)|congrats|congratulations|way to go|you rock|rock on|no (?:problem|worries|way)|any ?time",
    r"here (?:for|to) (?:you|ya|cheer|help|support)|that's (?:so |really )?(?:awesome|great|cool|amazing)|i wish you",
    r"count me in|sending (?:you|prayers|love|good|positive)|can't wait",
    r"(?:good|great|nice|glad|happy|sorry) to (?:see|hear|meet)|glad (?:you|it|that|to)|sorry (?:you|about|to)",
    r"(?:happy|proud|excited|thrilled|glad|stoked|here) (?:for|of) (?:you|u)",
    r"take care|talk (?:to you )?(?:soon|later)|see (?:you|ya)|bye|goodbye|good luck|best of luck",
    r"have (?:a|fun|an)\b.{0,20}$",
    r"keep (?:it|up|going|me|at|on|pushing|following|chasing|rocking|shining|doing|spreading|in touch|you posted)",
    r"let me know|let's|make sure|give it a (?:try|go|shot)|check (?:it|this|them) out|take a look",
    r"(?:can't|cannot) wait to (?:hear|see|chat|catch)|looking forward to (?:hearing|seeing|it|that)",
    r"i (?:totally |completely |really |so )?(?:agree|appreciate|get it|understand|hear you|get you)",
    r"you(?:'re| are) (?:right|welcome|so welcome|awesome|amazing|the best|doing great|so talented)",
    r"you(?:'ve| have)? got this|(?:what|how) about you|hope (?:you|it|that|your|everything)",
    r"i(?:'d| would) love to (?:hear|see|join|try)|what's (?:up|new)|long time no|it's been a while",
    r"sounds? (?:like|great|good|fun|amazing|awesome|delicious|so|really|fantastic|incredible|interesting|lovely)",
    r"looks? like a blast|i bet|since we (?:last )?(?:talked|chatted|spoke|caught up|checked)",
)
