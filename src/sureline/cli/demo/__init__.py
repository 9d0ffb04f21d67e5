"""``sureline demo``."""
