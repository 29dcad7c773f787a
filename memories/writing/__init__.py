"""The write path: prepare, lock, decide, flush; and every later change to a stored memory."""
