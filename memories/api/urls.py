"""The URLs of the API within a namespace."""

from django.urls import path

from memories.api.annotations import AnnotationsView
from memories.api.calibration import CalibrationView
from memories.api.entity_registry import EntitiesView
from memories.api.evaluation_runs import EvaluationsView, SensitivityView
from memories.api.evidence_actions import (
    ConfirmView,
    ContradictView,
    CorrectView,
    FeedbackView,
    ScoreHistoryView,
    SplitView,
)
from memories.api.faithfulness_check import FaithfulnessView
from memories.api.graph_edges import EdgeDetailView, EntityEdgesView, MemoryEdgesView
from memories.api.jobs import JobDetailView, JobStopView, JobsView
from memories.api.judgement_files import JudgementExportView, JudgementImportView, PoolView
from memories.api.judgement_sets import (
    GradesView,
    JudgedQueriesView,
    JudgementSetDetailView,
    JudgementSetsView,
    QuerySampleView,
)
from memories.api.memories import MemoriesView, MemoryBatchView
from memories.api.memory_detail import MemoryDetailView
from memories.api.namespaces import NamespaceView
from memories.api.optimiser import AblationView, OptimiseView
from memories.api.profile_publishing import (
    ProfileEvaluateView,
    ProfileGateView,
    ProfilePublishView,
    ProfileRollBackView,
)
from memories.api.profile_versions import (
    ProfileDiffView,
    ProfilesView,
    ProfileVersionView,
    ProfileYamlExportView,
    ProfileYamlImportView,
)
from memories.api.retrieval import CompareView, RetrieveView, WhyNotView
from memories.api.review_queue import DecideView, ReviewsView
from memories.api.shadows import ProfileShadowView
from memories.api.trace_list import TracesView
from memories.api.trace_replay import ReplayView, TraceView
from memories.api.transfer import MemoryImportView, NamespaceExportView
from memories.api.turns import TurnsView
from memories.api.write_policies import PolicyPreviewView, PolicyPublishView, WritePoliciesView

urlpatterns = [
    # First: it is the most frequent request, and patterns are tried in order.
    path("retrieve/", RetrieveView.as_view(), name="api-retrieve"),
    path("", NamespaceView.as_view(), name="api-namespace"),
    path("memories/", MemoriesView.as_view(), name="api-memories"),
    path("memories/batch/", MemoryBatchView.as_view(), name="api-memories-batch"),
    path("memories/<uuid:id>/", MemoryDetailView.as_view(), name="api-memory"),
    path("memories/<uuid:id>/confirm/", ConfirmView.as_view(), name="api-confirm"),
    path("memories/<uuid:id>/contradict/", ContradictView.as_view(), name="api-contradict"),
    path("memories/<uuid:id>/correct/", CorrectView.as_view(), name="api-correct"),
    path("memories/<uuid:id>/edges/", MemoryEdgesView.as_view(), name="api-memory-edges"),
    path("memories/<uuid:id>/feedback/", FeedbackView.as_view(), name="api-feedback"),
    path("memories/<uuid:id>/history/", ScoreHistoryView.as_view(), name="api-history"),
    path("memories/<uuid:id>/split/", SplitView.as_view(), name="api-split"),
    path("ablation/", AblationView.as_view(), name="api-ablation"),
    path("annotations/", AnnotationsView.as_view(), name="api-annotations"),
    path("calibration/", CalibrationView.as_view(), name="api-calibration"),
    path("compare/", CompareView.as_view(), name="api-compare"),
    path("edges/", EntityEdgesView.as_view(), name="api-edges"),
    path("edges/<uuid:id>/", EdgeDetailView.as_view(), name="api-edge"),
    path("entities/", EntitiesView.as_view(), name="api-entities"),
    path("evaluations/", EvaluationsView.as_view(), name="api-evaluations"),
    path("export/", NamespaceExportView.as_view(), name="api-export"),
    path("faithfulness/", FaithfulnessView.as_view(), name="api-faithfulness"),
    path("import/", MemoryImportView.as_view(), name="api-import"),
    path("jobs/", JobsView.as_view(), name="api-jobs"),
    path("jobs/<uuid:id>/", JobDetailView.as_view(), name="api-job"),
    path("jobs/<uuid:id>/stop/", JobStopView.as_view(), name="api-job-stop"),
    path("judgements/", JudgementSetsView.as_view(), name="api-judgements"),
    path("judgements/<uuid:id>/", JudgementSetDetailView.as_view(), name="api-judgement-set"),
    path("judgements/<uuid:id>/export/", JudgementExportView.as_view(), name="api-judgements-export"),
    path("judgements/<uuid:id>/grades/", GradesView.as_view(), name="api-judgements-grades"),
    path("judgements/<uuid:id>/import/", JudgementImportView.as_view(), name="api-judgements-import"),
    path("judgements/<uuid:id>/pool/", PoolView.as_view(), name="api-judgements-pool"),
    path("judgements/<uuid:id>/queries/", JudgedQueriesView.as_view(), name="api-judged-queries"),
    path("judgements/<uuid:id>/sample/", QuerySampleView.as_view(), name="api-judgements-sample"),
    path("optimise/", OptimiseView.as_view(), name="api-optimise"),
    path("policies/", WritePoliciesView.as_view(), name="api-policies"),
    path("policies/<uuid:id>/preview/", PolicyPreviewView.as_view(), name="api-policy-preview"),
    path("policies/<uuid:id>/publish/", PolicyPublishView.as_view(), name="api-policy-publish"),
    path("profiles/", ProfilesView.as_view(), name="api-profiles"),
    path("profiles/rollback/", ProfileRollBackView.as_view(), name="api-profile-rollback"),
    path("profiles/shadow/", ProfileShadowView.as_view(), name="api-profile-shadow"),
    path("profiles/yaml/", ProfileYamlImportView.as_view(), name="api-profile-yaml-import"),
    path("profiles/<uuid:id>/", ProfileVersionView.as_view(), name="api-profile"),
    path("profiles/<uuid:id>/diff/", ProfileDiffView.as_view(), name="api-profile-diff"),
    path("profiles/<uuid:id>/evaluate/", ProfileEvaluateView.as_view(), name="api-profile-evaluate"),
    path("profiles/<uuid:id>/gate/", ProfileGateView.as_view(), name="api-profile-gate"),
    path("profiles/<uuid:id>/publish/", ProfilePublishView.as_view(), name="api-profile-publish"),
    path("profiles/<uuid:id>/yaml/", ProfileYamlExportView.as_view(), name="api-profile-yaml"),
    path("replay/", ReplayView.as_view(), name="api-replay"),
    path("reviews/", ReviewsView.as_view(), name="api-reviews"),
    path("reviews/<uuid:id>/decide/", DecideView.as_view(), name="api-decide"),
    path("sensitivity/", SensitivityView.as_view(), name="api-sensitivity"),
    path("traces/", TracesView.as_view(), name="api-traces"),
    path("traces/<uuid:id>/", TraceView.as_view(), name="api-trace"),
    path("turns/", TurnsView.as_view(), name="api-turns"),
    path("why-not/", WhyNotView.as_view(), name="api-why-not"),
]
