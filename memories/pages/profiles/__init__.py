"""Profiles: ranking configurations as versions, from draft to served."""
