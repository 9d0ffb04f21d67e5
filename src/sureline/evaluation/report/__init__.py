"""The HTML report on a model."""
