"""Formulas typeset by the browser itself."""

from functools import cache

from django.utils.safestring import SafeString, mark_safe
from latex2mathml.converter import convert


@cache
def typeset(tex: str) -> SafeString:
    """A formula as MathML; its source is a docstring of this project, never a visitor's text."""
    return mark_safe(convert(tex, display="block"))
