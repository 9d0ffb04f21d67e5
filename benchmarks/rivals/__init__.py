"""sureline and its rivals on the same work: one file a rival, one file a contest, one runner."""
