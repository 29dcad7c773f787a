"""The Lab: run a query, explain each hit, move sliders, watch the ranking change."""
