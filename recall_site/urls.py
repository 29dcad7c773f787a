"""All URLs of the site."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView

from memories.web import prometheus, theme
from memories.web.api_docs import ApiDocs
from memories.web.sign_in import limit_attempts
from recall_site import readiness

sign_in = LoginView.as_view(template_name="sign_in.html", redirect_authenticated_user=True)

urlpatterns: list[URLPattern | URLResolver] = [
    path("health/live", readiness.live, name="live"),
    path("health/ready", readiness.ready, name="ready"),
    path("metrics", prometheus.metrics_view, name="metrics"),
    path("admin/login/", limit_attempts(admin.site.login)),
    path("admin/", admin.site.urls),
    path("api/v1/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/v1/docs/", ApiDocs.as_view(), name="docs"),
    path("sign-in/", limit_attempts(sign_in), name="sign-in"),
    path("sign-out/", LogoutView.as_view(next_page="sign-in"), name="sign-out"),
    path("theme/", theme.choose_theme, name="theme"),
    path("", include("memories.pages.formulas.urls")),
    path("", include("memories.urls")),
]

handler400 = "memories.web.problems.bad_request"
handler403 = "memories.web.problems.permission_denied"
handler404 = "memories.web.problems.not_found"
handler500 = "memories.web.problems.server_error"
