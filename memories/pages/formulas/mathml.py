"""LaTeX to MathML, rendered by the browser."""

from functools import cache

from django.utils.safestring import SafeString, mark_safe
from latex2mathml.converter import convert


@cache
def tex_to_mathml(tex: str) -> SafeString:
    """Convert a formula to MathML; the input is a docstring of this project, never user input."""
    return mark_safe(convert(tex, display="block"))
