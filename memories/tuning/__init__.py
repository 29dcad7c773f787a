"""Test collections, evaluation, the optimiser, calibration, and versioned profiles and write policies."""
