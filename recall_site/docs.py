"""The API's documentation page, from files of this site alone."""

from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.renderers import TemplateHTMLRenderer


class ApiDocs(SpectacularSwaggerSplitView):
    """Swagger UI within the site's frame; with `?script` the script that starts it, so that none is inline."""

    renderer_classes = [TemplateHTMLRenderer]
    template_name = "api_docs.html"
