"""The parts of the ranking that stand there dozens of times, written as text in one go: templates would take longer
than the ranking itself. Whatever comes from outside is escaped here."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from memories.templatetags.numbers import figure

NAMED, RANKED = 13, 6  # percent of a bar from which a segment has room for its name, and for its rank
LONGEST = 52  # characters of a memory in a list
GRADES = ("not relevant", "related", "helps", "answers it")


def bar(segments: Sequence[Any], score: float) -> SafeString:
    """A hit's score as a bar, parted by who brought it."""
    said = ", ".join(f"{one.look.name} {figure(one.value, 4)}" for one in segments)
    parts = []
    for place, one in enumerate(segments):
        name = f'<tspan class="w">{escape(one.look.name)} </tspan>' if one.width > NAMED else ""
        text = f"{name}{one.rank if one.width > RANKED else ''}"
        title = f"{escape(one.look.name)} {one.rank}, {figure(one.value, 4)} of {figure(score, 4)}"
        cut = f'<line class="cut" x1="{one.left:.2f}%" x2="{one.left:.2f}%" y2="18"/>' if place else ""
        colour = one.look.colour
        parts.append(
            f'<svg x="{one.left:.2f}%" width="{one.width:.2f}%" height="18">'
            f'<rect class="f-{colour}" width="100%" height="18"/>'
            f'<text x="6" y="13">{text}</text><title>{title}</title></svg>{cut}'
        )
    return mark_safe(f'<svg class="bar" role="img" aria-label="{escape(said)}">{"".join(parts)}</svg>')


def judge(id: Any, grade: int | None, *, rank: int | None = None, swapped: bool = False) -> SafeString:
    """The four grades of a hit, the given one pressed; each is a button of the form `judge`."""
    buttons = "".join(
        f'<button form="judge" name="grade" value="{id} {one}" aria-pressed="{"true" if one == grade else "false"}" '
        f'title="{meaning}">{one}</button>'
        for one, meaning in enumerate(GRADES)
    )
    legend = f'<legend class="vh">Relevance{f" of hit {rank}" if rank else ""}</legend>'
    out_of_band = ' hx-swap-oob="true"' if swapped else ""
    return mark_safe(f'<fieldset class="judge" id="judge-{id}"{out_of_band}>{legend}{buttons}</fieldset>')


def listed(rows: Sequence[Mapping[str, Any]]) -> SafeString:
    """The first places of one list."""
    return mark_safe("<ol>" + "".join(place(row) for row in rows) + "</ol>")


def place(row: Mapping[str, Any]) -> str:
    """One place: rank, words, the list's own score, and the rank in the answer."""
    content = row["content"]
    short = content if len(content) <= LONGEST else content[: LONGEST - 1].rstrip() + "…"
    now = f'<b class="chip on" title="its place in the ranking">{row["now"]}</b> ' if row["now"] else ""
    return (
        f'<li{" class=in" if row["now"] else ""}><span class="muted">{row["rank"]}</span>'
        f'<span title="{escape(content)}">{now}{escape(short)}</span>'
        f'<span class="num">{figure(row["score"], 3)}</span></li>'
    )
