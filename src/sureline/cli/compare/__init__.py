"""``sureline compare``."""
