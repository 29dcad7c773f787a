"""Light or dark theme, in a cookie: rendered by the server, so that no page flashes on load."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme

THEMES = ("light", "dark", "system")
YEAR = 365 * 24 * 3600  # seconds


def chosen_theme(request: HttpRequest) -> str:
    """Light or dark if the user chose one; empty if the system decides."""
    theme = request.COOKIES.get("theme", "")
    return theme if theme in THEMES and theme != "system" else ""


def choose_theme(request: HttpRequest) -> HttpResponse:
    """Store the chosen theme and redirect back; a GET only redirects."""
    back = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()})
    response = HttpResponseRedirect(back if safe else "/")
    theme = request.POST.get("theme", "")
    if theme in THEMES:
        response.set_cookie("theme", theme, max_age=YEAR, samesite="Lax")
    return response
