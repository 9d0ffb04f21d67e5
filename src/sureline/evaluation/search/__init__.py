"""Comparison and tuning of learners.

The names below are here so that help and completion can list them without further imports.
"""

DEFAULT = "sureline (default)"
PROTOCOLS = ("k-fold", "hold-out", "progressive")
BASELINES = (
    "multinomial-nb",
    "complement-nb",
    "logistic-l2",
    "logistic-l1",
    "linear-svm",
    "sgd",
)
