"""``sureline predict``."""
