"""One memory from request to row: resolve, ground, score, dedupe, store, corroborate."""
