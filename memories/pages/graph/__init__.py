"""The Graph page: the whole entity graph, or what is reached from one entity."""
