"""``sureline inspect``."""
