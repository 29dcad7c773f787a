"""The page of one memory: its scores and their evidence, its decay, its neighbours, and actions on it."""
