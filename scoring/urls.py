"""The addresses of the formulas' pages, and of the registry."""

from django.urls import path

from scoring import api, pages

urlpatterns = [
    path("formulas/", pages.formulas_page, name="formulas"),
    path("formulas/write-policy/", pages.write_policy_page, name="formulas-write-policy"),
    path("formulas/<slug:system>/", pages.system_formulas_page, name="formulas-system"),
    path("api/v1/systems/", api.SystemsView.as_view(), name="systems"),
]
