"""``sureline train``."""
