"""The guard at read time: whether an answer is carried by the memories it was made from."""
