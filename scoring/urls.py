"""The addresses of the formulas' pages, and of the registry."""

from django.urls import path

from scoring import api, pages

urlpatterns = [
    path("formulas/", pages.formulas, name="formulas"),
    path("formulas/write-policy/", pages.write_policy, name="formulas-write-policy"),
    path("formulas/<slug:system>/", pages.system, name="formulas-system"),
    path("api/v1/systems/", api.Systems.as_view(), name="systems"),
]
