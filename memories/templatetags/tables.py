"""Template tag for the head of a table."""

from django import template

register = template.Library()


@register.inclusion_tag("parts/thead.html")
def thead(*columns: str) -> dict[str, list[dict[str, str | bool]]]:
    """A row of column titles; `"Score:num"` adds a class, `"Share:share hidden"` leaves the title to screen readers.

    >>> thead("Score:num")["columns"]
    [{'title': 'Score', 'classes': 'num', 'hidden': False}]
    """
    return {"columns": [parse_column(column) for column in columns]}


def parse_column(column: str) -> dict[str, str | bool]:
    """Title and classes of a column."""
    title, _, suffix = column.partition(":")
    classes = suffix.split()
    return {
        "title": title,
        "classes": " ".join(name for name in classes if name != "hidden"),
        "hidden": "hidden" in classes,
    }
