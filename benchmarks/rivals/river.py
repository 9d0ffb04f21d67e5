"""River's classifiers, one text at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version as installed
from importlib.util import find_spec
from typing import Any

import numpy as np
from benchmarks.rivals.calls import single_calls
from benchmarks.rivals.data import Split
from benchmarks.rivals.entries import Entry

NAME = "River"


def missing() -> str:
    """A sentence if it is not installed."""
    return "" if find_spec("river") is not None else "River is not installed: pip install river."


def version() -> str:
    """The version that runs."""
    return installed("river")


def _makers() -> dict[str, Callable[[], Any]]:
    """River's classifiers of two classes, for words.

    ComplementNB is not among them: it learns far slower than the fastest, and testing it would
    take longer than all others together.
    """
    from river import linear_model, naive_bayes

    names = ("LogisticRegression", "Perceptron", "PAClassifier", "ALMAClassifier", "AdPredictor")
    found = {name: getattr(linear_model, name) for name in names if hasattr(linear_model, name)}
    for name in ("BernoulliNB", "MultinomialNB"):
        found[name] = getattr(naive_bayes, name)
    return found


def _pipeline(make: Callable[[], Any]) -> Any:
    """A classifier on words and pairs, found by the pattern that sureline goes by."""
    from river.feature_extraction import BagOfWords

    words = BagOfWords(ngram_range=(1, 2), strip_accents=False, tokenizer_pattern=r"(?u)\w+")
    return words | make()


def learn_one(split: Split) -> list[Entry]:
    """One text per call, from nothing; labels are true and false, which all of them take."""
    texts = split.train.listed
    labels = (split.train.labels == "spam").tolist()

    def run(make: Callable[[], Any]) -> Any:
        model = _pipeline(make)
        for one, label in zip(texts, labels, strict=True):
            model.learn_one(one, label)
        return model

    def accuracy(model: Any) -> float:
        answers = [bool(model.predict_one(one)) for one in split.test.listed]
        return float(np.mean(answers == (split.test.labels == "spam")))

    return [
        Entry(
            f"BagOfWords, {name}",
            "counts words and pairs, and learns",
            partial(run, make),
            accuracy=accuracy,
            count=len(texts),
        )
        for name, make in _makers().items()
    ]


def predict_one(split: Split) -> list[Entry]:
    """One text per call, with the two that are fastest at it."""
    entries = []
    for name, make in _makers().items():
        if name in ("LogisticRegression", "Perceptron"):
            model = _pipeline(make)
            for one, label in zip(split.train.listed, split.train.labels, strict=True):
                model.learn_one(one, bool(label == "spam"))
            entries.append(single_calls(f"BagOfWords, {name}", partial(_answer, model), split))
    return entries


def _answer(model: Any, one: str) -> str:
    """The label of a text."""
    return "spam" if model.predict_one(one) else "ham"
