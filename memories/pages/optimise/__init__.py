"""The optimiser as a page: what to search, how far it is, what came of it."""
