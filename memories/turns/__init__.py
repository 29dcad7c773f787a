"""Conversations as they come in: turns stored, chunks made of them, and the vectors of each."""
