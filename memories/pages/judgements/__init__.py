"""Judgements: sets of queries with graded memories, their pools, and pair after pair to judge."""
