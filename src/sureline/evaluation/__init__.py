"""How good a model is, and how sure: measures over predictions."""

from sureline.evaluation.entropy import label_entropy

__all__ = ["label_entropy"]
