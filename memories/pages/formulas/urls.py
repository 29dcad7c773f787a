"""URLs of the Formulas pages."""

from django.urls import path

from memories.pages.formulas import views

urlpatterns = [
    path("formulas/", views.formulas_page, name="formulas"),
    path("formulas/write-policy/", views.write_policy_page, name="formulas-write-policy"),
    path("formulas/<slug:system>/", views.system_formulas_page, name="formulas-system"),
]
