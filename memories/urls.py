"""The addresses of the memories' pages."""

from django.urls import path

from memories.pages import overview

urlpatterns = [
    path("", overview.home, name="home"),
    path("<slug:namespace>/", overview.overview, name="overview"),
]
