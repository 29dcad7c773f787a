"""A page's addresses and forms read by the rules of the API, so that both say the same of the same names."""

from copy import copy

from django.http import HttpRequest, QueryDict
from rest_framework.request import Request


def complete(request: HttpRequest) -> Request:
    """The request as the API reads it; a field of a form that was left empty says nothing."""
    said = QueryDict(mutable=True)
    for name, texts in request.GET.lists():
        said.setlist(name, [text for text in texts if text] or [])
    sent = copy(request)
    vars(sent)["GET"] = QueryDict(said.urlencode())
    return Request(sent)


def as_given(sent: Request) -> dict[str, str]:
    """What the address says, name by name."""
    given: dict[str, str] = sent.query_params.dict()
    return given


def filled(form: QueryDict) -> dict[str, str]:
    """What a form that was sent says, without what was left empty."""
    return {name: str(text) for name, text in form.items() if text and name != "csrfmiddlewaretoken"}
