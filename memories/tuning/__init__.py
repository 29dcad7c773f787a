"""How a namespace writes and ranks: versions that are never changed, and which of them serve."""
