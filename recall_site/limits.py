"""How much a refusal tells, for whoever words one."""

WHOLE_BODY = "body"  # the place of an error that lies nowhere in particular
MOST_ERRORS = 50
LONGEST_PLACE = 200  # characters; a place is made of the caller's own names
