"""The box of weights: rules that are solved over all examples at once."""
