"""Calibrate: annotate memories, see who agrees, and fit the constants to it."""
