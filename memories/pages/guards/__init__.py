"""The Guards page: an answer held against its memories, what grounding let in, and what escapes all guards."""
