"""scikit-learn: HashingVectorizer and its linear classifiers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sklearn
from benchmarks.rivals.calls import single_calls, single_rows
from benchmarks.rivals.data import Rows, Split
from benchmarks.rivals.entries import Entry
from benchmarks.rivals.timing import run_program
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

NAME = "scikit-learn"
BITS = 22


def missing() -> str:
    """Nothing to say: sureline itself needs it."""
    return ""


def version() -> str:
    """The version that runs."""
    return str(sklearn.__version__)


def pa1() -> SGDClassifier:
    """Passive-aggressive learning, PA-I, in one pass and in the order given."""
    return SGDClassifier(
        learning_rate="pa1", eta0=1.0, penalty=None, max_iter=1, tol=None, shuffle=False
    )


def words(signed: bool = True) -> HashingVectorizer:
    """Words and pairs, binary, scaled to length 1: the features that sureline finds."""
    return HashingVectorizer(
        ngram_range=(1, 2),
        token_pattern=r"\w+",  # noqa: S106
        n_features=2**BITS,
        binary=True,
        alternate_sign=signed,
        dtype=np.float32,
    )


def text(split: Split) -> list[Entry]:
    """Pipelines from raw text."""
    found: dict[str, tuple[str, str, Callable[[], Any]]] = {
        "SGDClassifier pa1": ("pa1", "one pass", pa1),
        "Perceptron": (
            "online",
            "one pass",
            lambda: Perceptron(max_iter=1, tol=None, shuffle=False),
        ),
        "LogisticRegression": ("batch", "until it converges", LogisticRegression),
        "LinearSVC": ("batch", "until it converges", LinearSVC),
        "ComplementNB": ("counts", "by counting", ComplementNB),
    }

    def fit(make: Callable[[], Any]) -> Any:
        signed = make is not ComplementNB  # which takes no negative values
        return make_pipeline(words(signed), make()).fit(split.train.listed, split.train.labels)

    return [
        Entry(
            f"HashingVectorizer, {name}",
            f"finds words and pairs in a list of strings, and learns; {described}",
            partial(fit, make),
            accuracy=lambda model: model.score(split.test.listed, split.test.labels),
            tag=tag,
            warm=tag != "batch",  # these take long, and longer than anything that has to warm up
        )
        for name, (tag, described, make) in found.items()
    ]


def sparse(rows: Rows) -> list[Entry]:
    """PA-I on sparse rows."""
    return [_fit(rows)]


def classes(rows: Rows) -> list[Entry]:
    """PA-I, one class against the rest."""
    return [_fit(rows)]


def _fit(rows: Rows) -> Entry:
    """One pass over sparse rows."""
    return Entry(
        "SGDClassifier pa1",
        "learns weights, without variances, from rows in memory; one pass",
        lambda: pa1().fit(rows.X, rows.y),
        accuracy=lambda model: model.score(rows.X_test, rows.y_test),
        tag="pa1",
    )


def one_row(given: tuple[Rows, int]) -> list[Entry]:
    """`partial_fit` of one row per call."""
    name = "SGDClassifier.partial_fit, pa1"
    work = "learns weights, without variances, of one sparse row per call"
    return [single_rows(name, work, pa1, given, "pa1")]


def predict_one(split: Split) -> list[Entry]:
    """One text per call, with a fitted pipeline."""
    model = make_pipeline(words(), pa1()).fit(split.train.listed, split.train.labels)

    def one(given: str) -> Any:
        return model.predict([given])[0]

    return [single_calls("HashingVectorizer, SGDClassifier", one, split)]


def predict(split: Split) -> list[Entry]:
    """Many texts at once, with a fitted pipeline."""
    model = make_pipeline(words(), pa1()).fit(split.train.listed, split.train.labels)
    return [
        Entry(
            "HashingVectorizer, SGDClassifier",
            "finds words and pairs in a list of strings, and classifies",
            lambda: model.predict(split.test.listed),
            accuracy=lambda answers: np.mean(answers == split.test.labels),
            tag="pa1",
        )
    ]


def start_up(given: Any) -> list[Entry]:
    """A process that only imports what most commands rest on."""
    code = "import sklearn, numba, pyarrow"
    return [
        Entry(
            f'python -c "{code}"',
            "starts, and imports",
            lambda: run_program([sys.executable, "-c", code]),
            tag="imports",
        )
    ]
