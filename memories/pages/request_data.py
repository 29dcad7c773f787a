"""Query strings and forms of pages, prepared for the API's serializers."""

from copy import copy
from uuid import UUID

from django.http import HttpRequest, QueryDict
from rest_framework.request import Request


def api_request(request: HttpRequest) -> Request:
    """The request as a DRF request, without empty query parameters."""
    params = QueryDict(mutable=True)
    for name, texts in request.GET.lists():
        params.setlist(name, [text for text in texts if text] or [])
    cleaned = copy(request)
    vars(cleaned)["GET"] = QueryDict(params.urlencode())
    return Request(cleaned)


def request_for_page(request: HttpRequest, path: str, query: QueryDict) -> HttpRequest:
    """A request for the page that a form was submitted from."""
    page_request = copy(request)
    page_request.path = path
    vars(page_request)["GET"] = query
    return page_request


def query_params_dict(request: Request) -> dict[str, str]:
    """The query parameters, last value of each."""
    params: dict[str, str] = request.query_params.dict()
    return params


def filled_fields(form: QueryDict) -> dict[str, str]:
    """The non-empty fields of a submitted form."""
    return {name: str(text) for name, text in form.items() if text and name != "csrfmiddlewaretoken"}


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True
