"""Compiled loops for the box of weights."""
