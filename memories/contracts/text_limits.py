"""Longest texts accepted, in characters."""

MAX_CONTENT_CHARS = 20_000
MAX_QUERY_CHARS = 10_000
