"""Dedup: how near memories lie to each other, and what the two thresholds make of that."""
