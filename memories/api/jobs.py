"""Long work over REST: asked for, listed, watched."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Choice, Flag, JsonObject, Text
from memories.api.idempotency import idempotent
from memories.api.paging import PageQuery, page, paged
from memories.api.refusals import Conflict
from memories.api.serializers import Object, checked
from memories.api.views import NamespacedView
from memories.jobs.registry import share
from memories.jobs.starting import BusyError, start
from memories.jobs.stopping import STOPPABLE, stop
from memories.models import Job, Namespace
from memories.models.choices import JobKind, JobState, Role
from memories.writing.reembedding import flaw


class ReflectParams(Object):
    """How to reflect."""

    full = Flag(default=False, help_text="look at everything, not at what is new alone")
    archive = Flag(default=False, help_text="archive what nothing bears out any more, instead of listing it")


class MeasureParams(Object):
    """How to measure the index: there is nothing to say."""


class ReembedParams(Object):
    """What to embed with."""

    embedder = Text(max_length=100)

    def validate_embedder(self, name: str) -> str:
        """Refuse what does not work here before anything is begun with it."""
        if wrong := flaw(name):
            raise ValidationError(wrong)
        return name


# What a caller may ask for: its parameters, and the role it takes.
ON_REQUEST: dict[str, tuple[type[Object], Role]] = {
    JobKind.REFLECT: (ReflectParams, Role.WRITE),
    JobKind.REEMBED: (ReembedParams, Role.ADMIN),
    JobKind.MEASURE: (MeasureParams, Role.WRITE),
}


class NewJob(Object):
    """Long work to be done."""

    kind = Choice(choices=list(ON_REQUEST))
    params = JsonObject(
        default=dict, help_text="reflect: full, archive (true or false); reembed: embedder; measure: none"
    )


class JobQuery(PageQuery):
    """Which jobs."""

    kind = Choice(choices=JobKind.values, required=False)
    state = Choice(choices=JobState.values, required=False)


class JobSerializer(serializers.Serializer[Job]):
    """A piece of long work, and how far it is."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=JobKind.values)
    state = serializers.ChoiceField(choices=JobState.values)
    params = serializers.DictField()
    step = serializers.CharField(allow_blank=True, help_text="what is done now")
    done = serializers.IntegerField(help_text="how much of the step")
    total = serializers.IntegerField(allow_null=True, help_text="of how much; null while nobody knows")
    share = serializers.SerializerMethodField(help_text="how much of the whole is done, 0 to 1")
    result = serializers.DictField(help_text="what each step has found, by its name")
    error = serializers.CharField(allow_blank=True, help_text="of the last attempt that failed")
    attempts = serializers.IntegerField()
    by = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    moved_at = serializers.DateTimeField(allow_null=True, help_text="when it last told how far it is")
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_share(self, job: Job) -> float:
        """Give how much is done."""
        return share(job)


class Jobs(NamespacedView):
    """The long work of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(operation_id="jobs", parameters=[JobQuery], responses=paged("JobPage", JobSerializer), tags=["jobs"])
    def get(self, request: Request, namespace: str) -> Response:
        """List jobs, newest first."""
        query = JobQuery.of(request)
        wanted = {name: query[name] for name in ("kind", "state") if name in query}
        found = page(request, self.namespace, Job.objects.within(self.namespace).filter(**wanted), query)
        return Response(found.answer(JobSerializer))

    @extend_schema(operation_id="start_job", request=NewJob, responses={202: JobSerializer}, tags=["jobs"])
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Ask for long work; where the same waits or runs already, that job is given back. Re-embedding needs admin."""
        asked = NewJob.of(request)
        serializer, needed = ON_REQUEST[asked["kind"]]
        if not self.access.allows(needed):
            raise PermissionDenied(self.access.refusal(needed))
        job = started(self, JobKind(asked["kind"]), params_of(serializer, asked["params"]))
        address = reverse("api-job", kwargs={"namespace": namespace, "id": job.id})
        return Response(JobSerializer(job).data, status=202, headers={"Location": address})


class JobDetail(NamespacedView):
    """One piece of long work."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="job", responses=JobSerializer, tags=["jobs"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Read how far a job is, and what has come of it."""
        return Response(JobSerializer(job_of(self.namespace, id)).data)


class JobStop(NamespacedView):
    """The end of a job before its time."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="stop_job", request=None, responses=JobSerializer, tags=["jobs"])
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Have an optimisation end with the best so far; one that has ended stays as it is."""
        Object.of(request)
        job = job_of(self.namespace, id)
        if job.kind not in STOPPABLE:
            raise Conflict(f"Only {', '.join(STOPPABLE)} can be stopped; this is {job.kind}.", code="not_stoppable")
        stop(job)
        return Response(JobSerializer(job).data)


def job_of(namespace: Namespace, id: UUID) -> Job:
    """A job of a namespace."""
    job = Job.objects.within(namespace).filter(id=id).select_related("namespace").first()
    if job is None:
        raise Http404(f"There is no job {id} here.")
    return job


def started(view: NamespacedView, kind: JobKind, params: dict[str, Any]) -> Job:
    """Start a job for a caller, or say what stands in its way."""
    try:
        return start(view.namespace, kind, params, by=view.access.caller)
    except BusyError as error:
        raise Conflict(str(error), code="job_unfinished") from error


def params_of(serializer: type[Object], given: dict[str, Any]) -> dict[str, Any]:
    """Check parameters where they stand; what is off is left out, so that equal wishes are equal."""
    try:
        values = checked(serializer(data=given))
    except ValidationError as error:
        raise ValidationError({"params": error.detail}) from error
    return {name: value for name, value in values.items() if value is not False}
