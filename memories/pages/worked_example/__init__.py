"""The Worked example page: the ten steps of the paper's appendix C, computed from a stored memory."""
