"""HTML of the parts that a ranking repeats dozens of times, built as strings: rendering templates would take longer
than the ranking itself. User content is escaped here."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from memories.contracts.number_format import format_number

# Percent of the bar's width from which a segment has room for its name, and for its rank.
MIN_WIDTH_FOR_NAME, MIN_WIDTH_FOR_RANK = 13, 6
MAX_CONTENT_CHARS = 52  # characters of a memory in a list
GRADE_MEANINGS = ("not relevant", "related", "helps", "answers it")


def score_bar_html(segments: Sequence[Any], score: float) -> SafeString:
    """A hit's score as a bar, split by retriever."""
    label = ", ".join(f"{segment.style.name} {format_number(segment.value, 4)}" for segment in segments)
    parts = []
    for position, segment in enumerate(segments):
        name = f'<tspan class="w">{escape(segment.style.name)} </tspan>' if segment.width > MIN_WIDTH_FOR_NAME else ""
        text = f"{name}{segment.rank if segment.width > MIN_WIDTH_FOR_RANK else ''}"
        share = f"{format_number(segment.value, 4)} of {format_number(score, 4)}"
        title = f"{escape(segment.style.name)} {segment.rank}, {share}"
        cut = f'<line class="cut" x1="{segment.left:.2f}%" x2="{segment.left:.2f}%" y2="18"/>' if position else ""
        colour = segment.style.colour
        parts.append(
            f'<svg x="{segment.left:.2f}%" width="{segment.width:.2f}%" height="18">'
            f'<rect class="f-{colour}" width="100%" height="18"/>'
            f'<text x="6" y="13">{text}</text><title>{title}</title></svg>{cut}'
        )
    return mark_safe(f'<svg class="bar" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>')


def grade_buttons_html(id: Any, grade: int | None, *, rank: int | None = None, out_of_band: bool = False) -> SafeString:
    """The four grade buttons of a hit, the stored grade pressed; they submit the form `judge`."""
    buttons = "".join(
        f'<button form="judge" name="grade" value="{id} {value}" '
        f'aria-pressed="{"true" if value == grade else "false"}" title="{meaning}">{value}</button>'
        for value, meaning in enumerate(GRADE_MEANINGS)
    )
    legend = f'<legend class="vh">Relevance{f" of hit {rank}" if rank else ""}</legend>'
    swap = ' hx-swap-oob="true"' if out_of_band else ""
    return mark_safe(f'<fieldset class="judge" id="judge-{id}"{swap}>{legend}{buttons}</fieldset>')


def ranked_list_html(rows: Sequence[Mapping[str, Any]]) -> SafeString:
    """The top of one ranked list."""
    return mark_safe("<ol>" + "".join(ranked_row_html(row) for row in rows) + "</ol>")


def ranked_row_html(row: Mapping[str, Any]) -> str:
    """One row: rank, content, raw score, and the rank in the answer."""
    content = row["content"]
    short = content if len(content) <= MAX_CONTENT_CHARS else content[: MAX_CONTENT_CHARS - 1].rstrip() + "…"
    now = f'<b class="chip on" title="rank in the answer">{row["now"]}</b> ' if row["now"] else ""
    return (
        f'<li{" class=in" if row["now"] else ""}><span class="muted">{row["rank"]}</span>'
        f'<span title="{escape(content)}">{now}{escape(short)}</span>'
        f'<span class="num">{format_number(row["score"], 3)}</span></li>'
    )
