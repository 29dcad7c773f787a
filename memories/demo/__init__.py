"""The world a newcomer explores: one user, her team and eighteen months of their assistant's memories."""
