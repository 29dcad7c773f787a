"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView

from recall_site import health, metrics, theme
from recall_site.docs import ApiDocs
from recall_site.sign_in import throttled

sign_in = LoginView.as_view(template_name="sign_in.html", redirect_authenticated_user=True)

urlpatterns: list[URLPattern | URLResolver] = [
    path("health/live", health.live, name="live"),
    path("health/ready", health.ready, name="ready"),
    path("metrics", metrics.show, name="metrics"),
    path("admin/login/", throttled(admin.site.login)),
    path("admin/", admin.site.urls),
    path("api/v1/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/v1/docs/", ApiDocs.as_view(), name="docs"),
    path("sign-in/", throttled(sign_in), name="sign-in"),
    path("sign-out/", LogoutView.as_view(next_page="sign-in"), name="sign-out"),
    path("theme/", theme.choose_theme, name="theme"),
    path("", include("memories.pages.formulas.urls")),
    path("", include("memories.urls")),
]

handler400 = "recall_site.problems.bad_request"
handler403 = "recall_site.problems.permission_denied"
handler404 = "recall_site.problems.not_found"
handler500 = "recall_site.problems.server_error"
