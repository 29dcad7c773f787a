"""What a text speaks of: the names in it, and whose names they are."""
