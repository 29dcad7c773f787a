"""Upkeep of a namespace: reflection, erasure, and health checks of its index, retrievers and tables."""
