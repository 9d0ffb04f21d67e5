"""The speed of the loops: one pass of every rule over sparse rows, and scikit-learn's PA-I.

Rows are drawn from a Zipf distribution, as words are, with labels from a sparse linear concept and
5 % of them flipped. All learners see the same rows in the same order, once; the time is the best of
several repeats, compiled code warm, with the accuracy on held-out rows. The floor is a loop that
reads every row and every weight it needs, and learns nothing.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import SGDClassifier
from timing import best
from zipf import count_once, draw_words

from sureline.estimators import classifier_for
from sureline.estimators.input_rows import as_rows
from sureline.kernels.scores import SCORE_ONE
from sureline.rules import rules


def documents(rows: int, length: int, bits: int) -> tuple[Any, np.ndarray]:
    """Zipf-distributed rows of about `length` distinct words among 2^bits, and their labels."""
    rng = np.random.default_rng(0)
    features = 2**bits
    X = count_once(draw_words(rng, rows, length, features), features)
    concept = rng.standard_normal(features).astype(np.float32)
    y = (X @ concept > 0).astype(np.int8)
    flipped = rng.random(rows) < 0.05
    return X, np.where(flipped, 1 - y, y)


def learners() -> dict[str, Any]:
    """scikit-learn's PA-I and every rule with every diagonal covariance, for one ordered pass."""
    found: dict[str, Any] = {
        "scikit-learn SGD pa1": SGDClassifier(
            penalty=None, learning_rate="pa1", eta0=1.0, max_iter=1, tol=None, shuffle=False
        )
    }
    for rule in rules().values():
        cls = classifier_for(rule.name)
        for covariance in rule.covariances or ("identity",):
            settings = {**rule.settings, "max_iter": 1, "shuffle": False}
            if covariance.startswith("diagonal"):
                found[f"{rule.name} {covariance}"] = cls(**settings, covariance=covariance)
            elif covariance == "identity":
                found[rule.name] = cls(**settings)
    return found


def compare(rows: int, length: int, bits: int, repeats: int) -> Table:
    """The table for one number of features."""
    X, y = documents(rows, length, bits)
    half = rows * 5 // 6
    train, held = X[:half], X[half:]
    page = Table(title=f"{train.nnz / 1e6:.1f}M nonzeros, 2^{bits} features, best of {repeats}")
    page.add_column("one pass of fit()")
    for heading in ("seconds", "÷ scikit-learn", "÷ floor", "accuracy"):
        page.add_column(heading, justify="right")
    weights, out = np.ones((2**bits + 1, 2, 1), np.float32), np.empty((half, 1))
    floor = best(repeats, SCORE_ONE.loop("float32"), as_rows(train), weights, 1.0, 0.0, out)
    page.add_row("(read-only floor)", f"{floor:.4f}", "", "1.00", "")
    rival = 0.0
    for name, model in learners().items():
        time = best(repeats, model.fit, train, y[:half])
        rival = rival or time  # the first is scikit-learn's
        accuracy = model.score(held, y[half:])
        page.add_row(
            name, f"{time:.4f}", f"{time / rival:.2f}", f"{time / floor:.2f}", f"{accuracy:.4f}"
        )
    return page


def main() -> None:
    """Print one table a number of features."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--bits", type=int, nargs="+", default=[18, 22])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    for bits in options.bits:
        Console().print(compare(options.rows, options.length, bits, options.repeats))


if __name__ == "__main__":
    main()
