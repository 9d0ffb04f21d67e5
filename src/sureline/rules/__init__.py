"""One update rule, one file: from margin and margin variance to step and precision gain."""

from sureline.rules.registry import (
    COVARIANCES,
    OwnKernel,
    Parameter,
    Rule,
    register,
    rules,
)

__all__ = ["COVARIANCES", "OwnKernel", "Parameter", "Rule", "register", "rules"]
