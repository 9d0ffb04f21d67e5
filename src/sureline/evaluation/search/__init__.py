"""Comparing and tuning candidates."""
