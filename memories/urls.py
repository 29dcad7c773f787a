"""The addresses of the memories' pages."""

from django.urls import include, path

from memories.pages import decay, health, overview, traces

urlpatterns = [
    path("api/v1/<slug:namespace>/", include("memories.api.urls")),
    path("", overview.home, name="home"),
    path("<slug:namespace>/", overview.overview, name="overview"),
    path("<slug:namespace>/decay/", decay.decay, name="decay"),
    path("<slug:namespace>/health/", health.health, name="health"),
    path("<slug:namespace>/health/start/", health.start_job, name="health-start"),
    path("<slug:namespace>/traces/", traces.traces, name="traces"),
    path("<slug:namespace>/traces/<uuid:id>/", traces.trace, name="traces-one"),
    path("<slug:namespace>/traces/new/", traces.arrivals, name="traces-new"),
]
