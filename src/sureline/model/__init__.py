"""What is learned: the arrays of a model, apart from the estimators that fill them."""

from sureline.model.state import Layout, State

__all__ = ["Layout", "State"]
