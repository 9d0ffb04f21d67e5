"""scikit-learn's checks of estimators, of which some may fail for a stated reason.

`parametrize_with_checks` would do the same, but its options differ between versions.
"""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator


def parametrize_with_checks(estimators):
    """A mark that runs a test with each of the `estimators` and each check that applies to it."""
    found = [pair for each in estimators for pair in estimator_checks_generator(each)]
    names = [f"{type(estimator).__name__}-{check.func.__name__}" for estimator, check in found]
    return pytest.mark.parametrize(("estimator", "check"), found, ids=names)


def run_check(check, estimator, expected):
    """Run one check; `expected` gives the reason for each one that may fail, by its name."""
    reason = expected.get(check.func.__name__)
    try:
        check(estimator)
    except Exception:
        if reason is None:
            raise
        pytest.xfail(reason)
