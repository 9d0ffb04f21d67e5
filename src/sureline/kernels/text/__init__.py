"""Compiled loops over the bytes of texts, and from fingerprints to columns."""
