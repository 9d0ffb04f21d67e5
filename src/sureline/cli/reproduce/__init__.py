"""``sureline reproduce``."""
