"""How well text stands out from what lies behind it, by WCAG 2.2: of two colours, and of all that a browser shows."""

from pathlib import Path

from playwright.sync_api import Page

TEXT, LARGE, CONTROL = 4.5, 3.0, 3.0  # the least of level AA

FAINT = Path(__file__).with_name("contrast.js").read_text()


def faint(page: Page) -> tuple[int, list[str]]:
    """How many texts a page shows, and those that stand out too little, with their ratio."""
    found = page.evaluate(FAINT, {"text": TEXT, "large": LARGE})
    return found["count"], found["faint"]


def ratio(one: str, other: str) -> float:
    """The contrast of two colours."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """How light a colour of six hexadecimal digits is."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
