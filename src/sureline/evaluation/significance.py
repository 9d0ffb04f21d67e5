"""Whether one classifier is better than another: McNemar's test, and ranks over many tasks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest, chi2, rankdata

from sureline.errors import DataError

FEW = 25  # below so many rows on which the two differ, the exact test is used


class McNemar(NamedTuple):
    """What McNemar's test finds.

    Parameters
    ----------
    only_a : int
        How many rows only the first classifier got right.
    only_b : int
        How many rows only the second got right.
    statistic : float
        The smaller of the two for the exact test, χ² otherwise.
    p_value : float
        How probable a difference at least as large is if both are equally good.
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
    """McNemar's test of two classifiers that were judged on the same rows.

    Only rows count that one of them got right and the other wrong. If both are equally good,
    either is as likely to be the one that is right.

    Parameters
    ----------
    right_a, right_b : arrays of bool of shape (n_samples,)
        Whether each classifier was right about each row.
    exact : bool, default=None
        Whether to use the exact binomial test, or the approximation by χ² with one degree of
        freedom. None: the exact test if they differ on fewer than 25 rows.
    correction : bool, default=True
        Whether the χ² test is corrected for continuity.

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
            f"mcnemar: {name} must say of each row whether it was right, as True or False; got an "
            f"array of {flags.dtype} of shape {flags.shape}"
        )
    return flags.astype(np.bool_)


def mean_rank(errors: ArrayLike) -> NDArray[np.float64]:
    """The mean rank of each learner over several tasks; 1 is the best there can be.

    Parameters
    ----------
    errors : array of shape (n_learners, n_tasks)
        The errors. Learners with the same error on a task share the mean of their ranks. A task on
        which no learner has a figure (all are NaN) is left out.

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
            "mean_rank takes a table of errors, one row a learner and one column a task; got the "
            f"shape {table.shape}"
        )
    missing = np.isnan(table)
    if (missing.any(axis=0) & ~missing.all(axis=0)).any() or missing.all():
        raise DataError(
            "mean_rank cannot compare learners on tasks that only some of them, or none, were "
            "judged on; leave those tasks out, or those learners"
        )
    ranks = rankdata(table[:, ~missing.all(axis=0)], axis=0)
    return np.asarray(ranks.mean(axis=1), np.float64)
