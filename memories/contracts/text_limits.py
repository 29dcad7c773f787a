"""Longest texts accepted, in characters, and most turns."""

MAX_CONTENT_CHARS = 20_000
MAX_QUERY_CHARS = 10_000
MAX_TURNS = 200  # of one request
