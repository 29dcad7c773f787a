"""Conversations: stored turns, the chunks built from them, and their vectors."""
