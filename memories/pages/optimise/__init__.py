"""The Optimise page: start a parameter search, follow its progress, see its result."""
