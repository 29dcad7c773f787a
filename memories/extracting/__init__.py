"""Memories read out of what people say, by rule."""
