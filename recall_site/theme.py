"""Light or dark: kept in a cookie, so that the server writes it into the page and nothing flashes."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme

THEMES = ("light", "dark", "system")
YEAR = 365 * 24 * 3600  # seconds


def chosen_theme(request: HttpRequest) -> str:
    """Light or dark where the user chose one; nothing where the system decides."""
    theme = request.COOKIES.get("theme", "")
    return theme if theme in THEMES and theme != "system" else ""


def choose_theme(request: HttpRequest) -> HttpResponse:
    """Remember what was chosen and go back; whoever only comes to look is sent on."""
    back = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()})
    response = HttpResponseRedirect(back if safe else "/")
    theme = request.POST.get("theme", "")
    if theme in THEMES:
        response.set_cookie("theme", theme, max_age=YEAR, samesite="Lax")
    return response
