"""The Lab: ask, see why, turn the sliders, watch the ranking move."""
