"""Typed shapes that the edges, the read path and the write path share."""
