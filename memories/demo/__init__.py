"""The demo world: one user, her team and eighteen months of their assistant's memories."""
