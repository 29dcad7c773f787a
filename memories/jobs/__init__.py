"""Background jobs: the queue, its worker, the schedule, and the steps of each kind of job."""
