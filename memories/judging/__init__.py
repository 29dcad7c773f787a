"""Queries with graded memories: brought in, drawn from traces, pooled, judged, and read as they hold today."""
