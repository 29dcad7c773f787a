"""Background jobs over REST: start, list, poll, stop."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.jobs.registry import job_completion
from memories.jobs.submission import CANCELLABLE, BusyError, cancel_job, submit_job
from memories.models import Job, Namespace
from memories.models.choices import JobKind, JobState, Role
from memories.web.fields import Flag, JsonObject, OneOf
from memories.web.http_errors import Conflict
from memories.web.namespace_bodies import ReembedParams
from memories.web.pagination import PageQuery, page_schema, paginate
from memories.web.serializers import StrictObject, valid_values


class ReflectParams(StrictObject):
    """Parameters of a reflect job."""

    full = Flag(default=False, help_text="process all memories, not only new ones")
    archive = Flag(default=False, help_text="archive unsupported memories instead of only listing them")


class MeasureParams(StrictObject):
    """Parameters of a measure job: none."""


# The jobs a caller may start: their parameters, and the role they need.
STARTABLE_JOBS: dict[str, tuple[type[StrictObject], Role]] = {
    JobKind.REFLECT: (ReflectParams, Role.WRITE),
    JobKind.REEMBED: (ReembedParams, Role.ADMIN),
    JobKind.MEASURE: (MeasureParams, Role.WRITE),
}


class NewJob(StrictObject):
    """A job to start."""

    kind = OneOf(choices=list(STARTABLE_JOBS))
    params = JsonObject(
        default=dict, help_text="reflect: full, archive (true or false); reembed: embedder; measure: none"
    )


class JobQuery(PageQuery):
    """Filters of the job list."""

    kind = OneOf(choices=JobKind.values, required=False)
    state = OneOf(choices=JobState.values, required=False)


class JobSerializer(serializers.Serializer[Job]):
    """A background job and its progress."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=JobKind.values)
    state = serializers.ChoiceField(choices=JobState.values)
    params = serializers.DictField()
    step = serializers.CharField(allow_blank=True, help_text="current step")
    done = serializers.IntegerField(help_text="items of the step that are done")
    total = serializers.IntegerField(allow_null=True, help_text="items of the step; null: not known yet")
    share = serializers.SerializerMethodField(help_text="overall progress, 0 to 1")
    result = serializers.DictField(help_text="results by step name")
    error = serializers.CharField(allow_blank=True, help_text="of the last failed attempt")
    attempts = serializers.IntegerField()
    by = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    moved_at = serializers.DateTimeField(allow_null=True, help_text="time of the last progress update")
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_share(self, job: Job) -> float:
        """Overall progress."""
        return job_completion(job)


class JobsView(NamespacedView):
    """The jobs of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="jobs", parameters=[JobQuery], responses=page_schema("JobPage", JobSerializer), tags=["jobs"]
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List jobs, newest first."""
        query = JobQuery.from_request(request)
        filters = {name: query[name] for name in ("kind", "state") if name in query}
        jobs = paginate(request, self.namespace, Job.objects.within(self.namespace).filter(**filters), query)
        return Response(jobs.to_dict(JobSerializer))

    @extend_schema(operation_id="start_job", request=NewJob, responses={202: JobSerializer}, tags=["jobs"])
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Start a job; if an identical one is queued or running, that job is returned. Re-embedding needs admin."""
        body = NewJob.from_request(request)
        serializer, needed = STARTABLE_JOBS[body["kind"]]
        if not self.access.allows(needed):
            raise PermissionDenied(self.access.denial_message(needed))
        job = start_job(self, JobKind(body["kind"]), validate_job_params(serializer, body["params"]))
        location = reverse("api-job", kwargs={"namespace": namespace, "id": job.id})
        return Response(JobSerializer(job).data, status=202, headers={"Location": location})


class JobDetailView(NamespacedView):
    """One job."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="job", responses=JobSerializer, tags=["jobs"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Read the progress and result of a job."""
        return Response(JobSerializer(job_or_404(self.namespace, id)).data)


class JobStopView(NamespacedView):
    """Cancellation of a job."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="stop_job", request=None, responses=JobSerializer, tags=["jobs"])
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Stop an optimisation with the best result so far; a finished job stays unchanged."""
        StrictObject.from_request(request)
        job = job_or_404(self.namespace, id)
        if job.kind not in CANCELLABLE:
            raise Conflict(f"Only {', '.join(CANCELLABLE)} can be stopped; this is {job.kind}.", code="not_stoppable")
        cancel_job(job)
        return Response(JobSerializer(job).data)


def job_or_404(namespace: Namespace, id: UUID) -> Job:
    """A job of a namespace."""
    job = Job.objects.within(namespace).filter(id=id).select_related("namespace").first()
    if job is None:
        raise Http404(f"There is no job {id} here.")
    return job


def start_job(view: NamespacedView, kind: JobKind, params: dict[str, Any]) -> Job:
    """Start a job for a caller; raise a conflict if another one is unfinished."""
    try:
        return submit_job(view.namespace, kind, params, by=view.access.caller)
    except BusyError as error:
        raise Conflict(str(error), code="job_unfinished") from error


def validate_job_params(serializer: type[StrictObject], params: dict[str, Any]) -> dict[str, Any]:
    """Validate job parameters under `params`; false flags are dropped so that equal requests compare equal."""
    try:
        values = valid_values(serializer(data=params))
    except ValidationError as error:
        raise ValidationError({"params": error.detail}) from error
    return {name: value for name, value in values.items() if value is not False}
