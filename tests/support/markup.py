"""HTML with whitespace collapsed as a browser does, so that a test does not depend on how a template is wrapped."""

import re

BLOCK = (
    "div|section|header|h[1-6]|p|ul|ol|li|dl|dt|dd|table|thead|tbody|tr|th|td|details|summary|form|label|select|option"
)


def collapse_whitespace(html: str) -> str:
    """One space for every run of whitespace, none at the edges of block elements."""
    return re.sub(rf" ?(</?(?:{BLOCK})\b[^>]*>) ?", r"\1", " ".join(html.split()))
