"""The box of weights as a scikit-learn classifier."""
