"""The write path: resolve, ground, score, deduplicate, store and corroborate one memory from request to row."""
