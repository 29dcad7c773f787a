"""Files of memories that wait to be imported."""

from django.db import models
from django.utils import timezone

from memories.models.job import Job
from memories.models.keys import Namespaced
from memories.models.packed_json import PackedJSONField
from memories.models.references import Reference


class Upload(Namespaced):
    """A file as its rows, from its upload until it is imported or a day has passed."""

    name = models.CharField(max_length=200)
    format = models.CharField(max_length=20, help_text="a known format, or table: then its columns are mapped")
    rows = PackedJSONField(default=list, help_text="request bodies, or the rows of a table")
    count = models.PositiveIntegerField(help_text="number of rows")
    columns = models.JSONField(default=dict, help_text="of a table: field of a memory → column")
    job_id = models.UUIDField(null=True)
    job: Reference[Job | None] = Reference(Job, related_name="uploads")
    by = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["namespace", "job_id"], name="upload_job")]

    def __str__(self) -> str:
        return self.name
