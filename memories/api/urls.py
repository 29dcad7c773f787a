"""The addresses of the API within a namespace."""

from django.urls import path

from memories.api.acts import Confirm, Contradict, Correct, Feedback, History, Split
from memories.api.annotations import Annotations
from memories.api.bulk import Export, Import
from memories.api.calibration import CalibrationView
from memories.api.edges import EdgeDetail, Edges, MemoryEdges
from memories.api.entities import Entities
from memories.api.evaluations import Evaluations, Sensitivity
from memories.api.faithfulness import Faithfulness
from memories.api.jobs import JobDetail, Jobs, JobStop
from memories.api.judgement_files import JudgementExport, JudgementImport, Pool
from memories.api.judgements import Draw, Grades, JudgedQueries, Judgements, JudgementSetDetail
from memories.api.memories import Batch, Memories
from memories.api.memory import MemoryDetail
from memories.api.namespaces import NamespaceFacts
from memories.api.optimise import Ablation, Optimise
from memories.api.policies import Policies, PolicyPreview, PolicyPublish
from memories.api.profiles import ProfileAsText, ProfileDiff, Profiles, ProfileTexts, ProfileVersionDetail
from memories.api.publishing import ProfileEvaluate, ProfileGate, ProfilePublish, ProfileRollBack
from memories.api.retrieval import Compare, Retrieve, WhyNot
from memories.api.reviews import Decide, Reviews
from memories.api.shadows import ProfileShadow
from memories.api.trace_list import Traces
from memories.api.traces import Replay, TraceDetail
from memories.api.turns import Turns

urlpatterns = [
    # First, as it is asked for most and addresses are tried one after another.
    path("retrieve/", Retrieve.as_view(), name="api-retrieve"),
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
    path("ablation/", Ablation.as_view(), name="api-ablation"),
    path("annotations/", Annotations.as_view(), name="api-annotations"),
    path("calibration/", CalibrationView.as_view(), name="api-calibration"),
    path("compare/", Compare.as_view(), name="api-compare"),
    path("edges/", Edges.as_view(), name="api-edges"),
    path("edges/<uuid:id>/", EdgeDetail.as_view(), name="api-edge"),
    path("entities/", Entities.as_view(), name="api-entities"),
    path("evaluations/", Evaluations.as_view(), name="api-evaluations"),
    path("export/", Export.as_view(), name="api-export"),
    path("faithfulness/", Faithfulness.as_view(), name="api-faithfulness"),
    path("import/", Import.as_view(), name="api-import"),
    path("jobs/", Jobs.as_view(), name="api-jobs"),
    path("jobs/<uuid:id>/", JobDetail.as_view(), name="api-job"),
    path("judgements/", Judgements.as_view(), name="api-judgements"),
    path("judgements/<uuid:id>/", JudgementSetDetail.as_view(), name="api-judgement-set"),
    path("judgements/<uuid:id>/draw/", Draw.as_view(), name="api-judgements-draw"),
    path("judgements/<uuid:id>/export/", JudgementExport.as_view(), name="api-judgements-export"),
    path("judgements/<uuid:id>/grades/", Grades.as_view(), name="api-judgements-grades"),
    path("judgements/<uuid:id>/import/", JudgementImport.as_view(), name="api-judgements-import"),
    path("judgements/<uuid:id>/pool/", Pool.as_view(), name="api-judgements-pool"),
    path("judgements/<uuid:id>/queries/", JudgedQueries.as_view(), name="api-judged-queries"),
    path("jobs/<uuid:id>/stop/", JobStop.as_view(), name="api-job-stop"),
    path("optimise/", Optimise.as_view(), name="api-optimise"),
    path("policies/", Policies.as_view(), name="api-policies"),
    path("policies/<uuid:id>/preview/", PolicyPreview.as_view(), name="api-policy-preview"),
    path("policies/<uuid:id>/publish/", PolicyPublish.as_view(), name="api-policy-publish"),
    path("profiles/", Profiles.as_view(), name="api-profiles"),
    path("profiles/rollback/", ProfileRollBack.as_view(), name="api-profile-rollback"),
    path("profiles/shadow/", ProfileShadow.as_view(), name="api-profile-shadow"),
    path("profiles/yaml/", ProfileTexts.as_view(), name="api-profile-texts"),
    path("profiles/<uuid:id>/", ProfileVersionDetail.as_view(), name="api-profile"),
    path("profiles/<uuid:id>/diff/", ProfileDiff.as_view(), name="api-profile-diff"),
    path("profiles/<uuid:id>/evaluate/", ProfileEvaluate.as_view(), name="api-profile-evaluate"),
    path("profiles/<uuid:id>/gate/", ProfileGate.as_view(), name="api-profile-gate"),
    path("profiles/<uuid:id>/publish/", ProfilePublish.as_view(), name="api-profile-publish"),
    path("profiles/<uuid:id>/yaml/", ProfileAsText.as_view(), name="api-profile-yaml"),
    path("replay/", Replay.as_view(), name="api-replay"),
    path("reviews/", Reviews.as_view(), name="api-reviews"),
    path("reviews/<uuid:id>/decide/", Decide.as_view(), name="api-decide"),
    path("sensitivity/", Sensitivity.as_view(), name="api-sensitivity"),
    path("traces/", Traces.as_view(), name="api-traces"),
    path("traces/<uuid:id>/", TraceDetail.as_view(), name="api-trace"),
    path("turns/", Turns.as_view(), name="api-turns"),
    path("why-not/", WhyNot.as_view(), name="api-why-not"),
]
