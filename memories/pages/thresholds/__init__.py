"""The Thresholds page: every threshold of a namespace in one place, and what moving it changes."""
