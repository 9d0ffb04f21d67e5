"""``sureline explain``."""
