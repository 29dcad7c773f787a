"""The Calibrate page: annotations, agreement between annotators, and the constants fitted to them."""
