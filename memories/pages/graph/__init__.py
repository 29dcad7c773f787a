"""The Graph: entities and their typed edges, and how far recall's paths lead from one of them."""
