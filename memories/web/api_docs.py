"""The API's documentation page, without assets from elsewhere."""

from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.renderers import TemplateHTMLRenderer


class ApiDocs(SpectacularSwaggerSplitView):
    """Swagger UI in the site's layout; `?script` serves its start script, since CSP forbids an inline one."""

    renderer_classes = [TemplateHTMLRenderer]
    template_name = "api_docs.html"
