"""Typed shapes that the edges, the jobs and both paths share."""
