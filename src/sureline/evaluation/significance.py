"""How certain an error is, and whether one classifier is better than another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest, chi2, rankdata

from sureline.errors import DataError

FEW = 25  # below this many discordant rows, the exact test is used


def wilson_interval(count: int, total: int) -> tuple[float, float]:
    """Wilson's 95% confidence interval of the share `count` / `total`."""
    interval = binomtest(count, total).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


class McNemar(NamedTuple):
    """The result of McNemar's test.

    Parameters
    ----------
    only_a : int
        How many rows only the first classifier predicted correctly.
    only_b : int
        How many rows only the second predicted correctly.
    statistic : float
        The smaller of the two for the exact test, χ² otherwise.
    p_value : float
        The probability of a difference at least as large if both are equally good.
    exact : bool
        Whether the exact test was used.
    """

    only_a: int
    only_b: int
    statistic: float
    p_value: float
    exact: bool


def mcnemar(
    right_a: ArrayLike, right_b: ArrayLike, exact: bool | None = None, correction: bool = True
) -> McNemar:
    """McNemar's test of two classifiers that predicted the same rows.

    Only discordant rows count: those that one predicted correctly and the other did not. If both
    are equally good, either is as likely to be the one that is right.

    Parameters
    ----------
    right_a, right_b : arrays of bool of shape (n_samples,)
        Whether each classifier predicted each row correctly.
    exact : bool, default=None
        Whether to use the exact binomial test, or the approximation by χ² with one degree of
        freedom. None: the exact test below 25 discordant rows.
    correction : bool, default=True
        Whether to correct the χ² test for continuity.

    Returns
    -------
    McNemar
        The counts, the statistic and the two-sided p-value.

    Examples
    --------
    >>> from sureline.evaluation import mcnemar
    >>> right_a = [True] * 9 + [False]
    >>> right_b = [True] * 2 + [False] * 7 + [True]
    >>> found = mcnemar(right_a, right_b)
    >>> found.only_a, found.only_b, round(found.p_value, 4)
    (7, 1, 0.0703)
    """
    a, b = _flags(right_a, "right_a"), _flags(right_b, "right_b")
    if a.size != b.size:
        raise DataError(
            f"mcnemar compares two classifiers on the same rows, but right_a has {a.size:,} rows "
            f"and right_b {b.size:,}"
        )
    only_a, only_b = int((a & ~b).sum()), int((~a & b).sum())
    differ = only_a + only_b
    if exact is None:
        exact = differ < FEW
    if exact:
        p = float(binomtest(only_a, differ).pvalue) if differ else 1.0
        return McNemar(only_a, only_b, float(min(only_a, only_b)), p, True)
    lead = max(0, abs(only_a - only_b) - int(correction))
    statistic = lead * lead / differ if differ else 0.0
    return McNemar(only_a, only_b, statistic, float(chi2.sf(statistic, 1)), False)


def _flags(right: ArrayLike, name: str) -> NDArray[np.bool_]:
    flags = np.asarray(right)
    if flags.ndim != 1 or not (flags.dtype == np.bool_ or np.isin(flags, (0, 1)).all()):
        raise DataError(
            f"mcnemar: {name} must hold True or False for each row, whether its prediction was "
            f"right; got an array of {flags.dtype} of shape {flags.shape}"
        )
    return flags.astype(np.bool_)


def mean_rank(errors: ArrayLike) -> NDArray[np.float64]:
    """The mean rank of each learner over several tasks; 1 is the best possible.

    Parameters
    ----------
    errors : array of shape (n_learners, n_tasks)
        The errors. Learners with the same error on a task share the mean of their ranks. A task
        without any error (all are NaN) is left out.

    Returns
    -------
    array of shape (n_learners,)
        The mean ranks.

    Examples
    --------
    >>> from sureline.evaluation import mean_rank
    >>> mean_rank([[0.10, 0.20, 0.30], [0.20, 0.10, 0.30], [0.30, 0.30, 0.10]]).tolist()
    [1.8333333333333333, 1.8333333333333333, 2.3333333333333335]
    """
    table = np.asarray(errors, np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(
            "mean_rank takes a table of errors, one row per learner and one column per task; got "
            f"the shape {table.shape}"
        )
    missing = np.isnan(table)
    if (missing.any(axis=0) & ~missing.all(axis=0)).any() or missing.all():
        raise DataError(
            "mean_rank cannot compare learners if only some of them, or none, have an error on a "
            "task; leave out those tasks or those learners"
        )
    ranks = rankdata(table[:, ~missing.all(axis=0)], axis=0)
    return np.asarray(ranks.mean(axis=1), np.float64)
