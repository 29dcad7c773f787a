"""The Decay page: curves of each system with sliders, and the memories on them."""
