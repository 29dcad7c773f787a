"""Appendix A of the paper on a namespace's own annotations: who agrees, and what the constants should be."""
