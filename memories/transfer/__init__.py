"""Import and export of memories and whole namespaces as JSON Lines."""
