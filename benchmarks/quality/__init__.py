"""Retrieval quality on public data, through the write and the read path, without a language model."""
