"""The guard at read time: whether an answer is supported by the memories it is based on."""
