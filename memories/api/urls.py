"""The addresses of the API within a namespace."""

from django.urls import path

from memories.api.acts import Confirm, Feedback, History
from memories.api.entities import Entities
from memories.api.memories import Batch, Memories, MemoryDetail
from memories.api.namespaces import NamespaceFacts

urlpatterns = [
    path("", NamespaceFacts.as_view(), name="api-namespace"),
    path("memories/", Memories.as_view(), name="api-memories"),
    path("memories/batch/", Batch.as_view(), name="api-memories-batch"),
    path("memories/<uuid:id>/", MemoryDetail.as_view(), name="api-memory"),
    path("memories/<uuid:id>/confirm/", Confirm.as_view(), name="api-confirm"),
    path("memories/<uuid:id>/feedback/", Feedback.as_view(), name="api-feedback"),
    path("memories/<uuid:id>/history/", History.as_view(), name="api-history"),
    path("entities/", Entities.as_view(), name="api-entities"),
]
