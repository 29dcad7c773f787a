"""A running job as its steps see it: for the layers below the queue."""

from memories.jobs.work import Step, Work

__all__ = ["Step", "Work"]
