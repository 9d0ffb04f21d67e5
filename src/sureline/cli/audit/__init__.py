"""``sureline audit``."""
