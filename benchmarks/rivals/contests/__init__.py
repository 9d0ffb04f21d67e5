"""The contests, by name, in the order in which they are run."""

from benchmarks.rivals.contests import (
    classes,
    cold,
    full_covariance,
    learn_one,
    one_row,
    predict,
    predict_one,
    sparse,
    start_up,
    text,
)

MODULES = (
    *(text, sparse, classes, learn_one, one_row),
    *(predict_one, predict, full_covariance, start_up, cold),
)
CONTESTS = {module.CONTEST.name: module.CONTEST for module in MODULES}
