"""The API's documentation page, from files of this site alone."""

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.views import SpectacularSwaggerSplitView

from recall_site.middleware import policy

# The <style> in drf-spectacular's template; a browser test notices when an upgrade changes it.
PAGE_STYLE = "'sha256-MMpT0iDxyjALd9PdfepImGX3DBfJPXZ4IlDWdPAgtn0='"


class ApiDocs(SpectacularSwaggerSplitView):
    """Swagger UI; with `?script` the script that starts it."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer with a policy that lets in the page's own style, and nothing more."""
        response = super().dispatch(request, *args, **kwargs)
        response["Content-Security-Policy"] = policy(style_src=f"'self' {PAGE_STYLE}")
        return response
