"""Classifier and vectorizer for raw text."""
