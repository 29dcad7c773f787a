"""Erasure: memories, and all that tells of them, for good."""
