"""What has changed since the last reflection, so that a nightly one need not look at everything."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from memories.ids import first_id_at
from memories.jobs.work import Work
from memories.models import Job, Memory, Mention, Publication, ScoreEvent
from memories.models.choices import ChunkLevel, JobKind, JobState
from memories.models.keys import NamespacedQuerySet

# Ids carry the clock of the process that made them, and two machines may differ by a little.
SKEW = timedelta(minutes=1)


def since(work: Work) -> UUID | None:
    """The least id of what is new; nothing where everything is looked at.

    That is so the first time, when asked for, and when other thresholds or vectors have come into force meanwhile.
    """
    done = Job.objects.within(work.namespace).filter(state=JobState.DONE, started_at__isnull=False)
    last = done.filter(kind=JobKind.REFLECT).exclude(id=work.job.id).order_by("started_at").last()
    if work.job.params.get("full") or last is None or last.started_at is None or overturned(work, last.started_at):
        return None
    return first_id_at(last.started_at - SKEW)


def overturned(work: Work, moment: datetime) -> bool:
    """Whether something came into force after a moment that bears on every memory."""
    published = Publication.objects.within(work.namespace).filter(published_at__gt=moment)
    embedded = Job.objects.within(work.namespace).filter(kind=JobKind.REEMBED, finished_at__gt=moment)
    return published.exists() or embedded.exists()


def changed(work: Work) -> NamespacedQuerySet[Memory]:
    """Facts that were stored, changed their status or were found to name somebody since the last reflection."""
    facts = Memory.objects.within(work.namespace).filter(level=ChunkLevel.FACT)
    mark = since(work)
    if mark is None:
        return facts
    events = ScoreEvent.objects.within(work.namespace).filter(id__gte=mark, after__has_key="status")
    mentions = Mention.objects.within(work.namespace).filter(id__gte=mark)
    return facts.filter(Q(id__in=events.values("memory_id")) | Q(id__in=mentions.values("memory_id")))
