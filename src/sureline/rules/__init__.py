"""One update rule, one file: from margin and margin variance to step and precision gain."""

from sureline.rules.registry import (
    COVARIANCES,
    BatchRule,
    OwnKernel,
    Parameter,
    Rule,
    batch_rules,
    register,
    rules,
)

__all__ = [
    "COVARIANCES",
    "BatchRule",
    "OwnKernel",
    "Parameter",
    "Rule",
    "batch_rules",
    "register",
    "rules",
]
