"""``sureline tune``."""
