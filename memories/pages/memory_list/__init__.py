"""The Memories page: filter, search and count memories, save views, act on several."""
