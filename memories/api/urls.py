"""The addresses of the API within a namespace."""

from django.urls import path

from memories.api.acts import Confirm, Contradict, Correct, Feedback, History, Split
from memories.api.bulk import Export, Import
from memories.api.edges import EdgeDetail, Edges, MemoryEdges
from memories.api.entities import Entities
from memories.api.jobs import JobDetail, Jobs
from memories.api.memories import Batch, Memories
from memories.api.memory import MemoryDetail
from memories.api.namespaces import NamespaceFacts
from memories.api.policies import Policies, PolicyPreview, PolicyPublish
from memories.api.retrieval import Compare, Retrieve, WhyNot
from memories.api.reviews import Decide, Reviews
from memories.api.trace_list import Traces
from memories.api.traces import Replay, TraceDetail
from memories.api.turns import Turns

urlpatterns = [
    path("", NamespaceFacts.as_view(), name="api-namespace"),
    path("memories/", Memories.as_view(), name="api-memories"),
    path("memories/batch/", Batch.as_view(), name="api-memories-batch"),
    path("memories/<uuid:id>/", MemoryDetail.as_view(), name="api-memory"),
    path("memories/<uuid:id>/confirm/", Confirm.as_view(), name="api-confirm"),
    path("memories/<uuid:id>/contradict/", Contradict.as_view(), name="api-contradict"),
    path("memories/<uuid:id>/correct/", Correct.as_view(), name="api-correct"),
    path("memories/<uuid:id>/edges/", MemoryEdges.as_view(), name="api-memory-edges"),
    path("memories/<uuid:id>/feedback/", Feedback.as_view(), name="api-feedback"),
    path("memories/<uuid:id>/history/", History.as_view(), name="api-history"),
    path("memories/<uuid:id>/split/", Split.as_view(), name="api-split"),
    path("compare/", Compare.as_view(), name="api-compare"),
    path("edges/", Edges.as_view(), name="api-edges"),
    path("edges/<uuid:id>/", EdgeDetail.as_view(), name="api-edge"),
    path("entities/", Entities.as_view(), name="api-entities"),
    path("export/", Export.as_view(), name="api-export"),
    path("import/", Import.as_view(), name="api-import"),
    path("jobs/", Jobs.as_view(), name="api-jobs"),
    path("jobs/<uuid:id>/", JobDetail.as_view(), name="api-job"),
    path("policies/", Policies.as_view(), name="api-policies"),
    path("policies/<uuid:id>/preview/", PolicyPreview.as_view(), name="api-policy-preview"),
    path("policies/<uuid:id>/publish/", PolicyPublish.as_view(), name="api-policy-publish"),
    path("replay/", Replay.as_view(), name="api-replay"),
    path("retrieve/", Retrieve.as_view(), name="api-retrieve"),
    path("reviews/", Reviews.as_view(), name="api-reviews"),
    path("reviews/<uuid:id>/decide/", Decide.as_view(), name="api-decide"),
    path("traces/", Traces.as_view(), name="api-traces"),
    path("traces/<uuid:id>/", TraceDetail.as_view(), name="api-trace"),
    path("turns/", Turns.as_view(), name="api-turns"),
    path("why-not/", WhyNot.as_view(), name="api-why-not"),
]
