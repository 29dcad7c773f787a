"""The Dedup page: cosines of nearest neighbours, and what the two thresholds make of them."""
