"""The REST API: who may call, what may come in, and how answers are paged and repeated."""
