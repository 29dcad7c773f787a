"""Profiles: versions of a ranking, from the first draft to what serves."""
