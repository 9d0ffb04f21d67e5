"""``sureline evaluate``."""
