"""The results of the demonstration: everything that it prints is computed here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import sqrt
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from sureline.cli.explain.results import cut_into_pieces
from sureline.cli.model_files import describe_model
from sureline.data import sms_spam
from sureline.estimators import TextClassifier
from sureline.kernels.numba_internals import event

TEST_SHARE = 0.3
SEED = 0
FEW = 300
TOP = 6
EVERY = 2**31  # more features than any message has
SPAM, HAM = "spam", "ham"
# The message to explain: caught with less certainty than most, and short enough to read.
QUANTILE = 0.25
READABLE = range(60, 141)


class Compilations(event.Listener):
    """Counts what Numba compiles, as opposed to what it finds in its cache, and says so."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.count = 0
        self._say = say

    def on_start(self, _: Any) -> None:
        """Numba starts to compile a function."""
        self.count += 1
        self._say("compiling, which only the first run does")

    def on_end(self, _: Any) -> None:
        """Numba has compiled a function."""


def collect_results(say: Callable[[str], None], started: float) -> dict[str, Any]:
    """Learn, test and explain; `say` is called with what is being done."""
    texts, labels = sms_spam()
    train, test, y_train, y_test = train_test_split(
        texts, np.array(labels), test_size=TEST_SHARE, stratify=labels, random_state=SEED
    )
    laps = [started, perf_counter()]

    # A few messages, enough for the vocabulary to grow, take every compiled function through its
    # first call.
    say("loading the compiled functions")
    model = TextClassifier(random_state=SEED)
    with event.install_listener("numba:compile", Compilations(say)) as compilations:
        model.fit(train[:FEW], y_train[:FEW]).predict(train[:FEW])
        _strongest(model, SPAM)
        _explain(model, train[0], SPAM)
    laps.append(perf_counter())

    say("learning")
    model.fit(train, y_train)
    laps.append(perf_counter())
    predicted = model.predict(test)
    laps.append(perf_counter())

    [(majority, _)] = Counter(y_train.tolist()).most_common(1)
    spam, flagged = y_test == SPAM, predicted == SPAM
    probability = model.predict_proba(test)[:, model.classes_.tolist().index(SPAM)]
    chosen = _choose(test, probability, spam & flagged)
    parts = ("loading", "compiling", "learning", "predicting")
    return {
        "data": "SMS Spam Collection",
        "labels": dict(Counter(labels)),
        "classifier": repr(model),
        "rule": describe_model(model)["rule"],
        "passes": model.n_iter_,
        "features": model.n_features_,
        "trained": len(train),
        "tested": len(test),
        "errors": int((predicted != y_test).sum()),
        "majority": majority,
        "majority_errors": int((y_test != majority).sum()),
        "spam_tested": int(spam.sum()),
        "spam_caught": int((spam & flagged).sum()),
        "ham_tested": int((~spam).sum()),
        "ham_flagged": int((~spam & flagged).sum()),
        "for_spam": _strongest(model, SPAM),
        "for_ham": _strongest(model, HAM),
        "explanation": _explain(model, test[chosen], str(y_test[chosen])),
        "functions_compiled": compilations.count,
        "seconds": {
            **dict(zip(parts, np.diff(laps).tolist(), strict=True)),
            "total": perf_counter() - started,
        },
    }


def _strongest(model: TextClassifier, label: str) -> list[dict[str, Any]]:
    """The features that most certainly indicate a class; weights for ham are negative."""
    sign = 1.0 if label == SPAM else -1.0
    return [
        {"feature": each.feature, "weight": sign * each.weight, "deviation": sqrt(each.variance)}
        for each in model.top_features(label, TOP)
        if each.variance is not None
    ]


def _choose(texts: list[str], probability: NDArray[Any], caught: NDArray[np.bool_]) -> int:
    """The readable caught message whose probability is nearest to the quantile of them all."""
    goal = np.quantile(probability[caught], QUANTILE)
    readable = [len(text) in READABLE and text.isprintable() for text in texts]
    candidates = np.flatnonzero(caught & np.array(readable))
    return int(candidates[np.argmin(abs(probability[candidates] - goal))])


def _explain(model: TextClassifier, message: str, label: str) -> dict[str, Any]:
    """Where the score of a message comes from, by feature and by piece of text."""
    explained = model.explain(message, top=EVERY)
    (mean,), (variance,) = model.decision_distribution([message])
    reasons = explained.classes[SPAM]
    pieces, _ = cut_into_pieces(message, reasons.features)
    return {
        "message": message,
        "label": label,
        "prediction": explained.label,
        "probability": model.predict_proba_one(message)[SPAM],
        "score": float(mean),
        "deviation": sqrt(variance),
        "constant": reasons.constant,
        "features": [{"text": each.feature, "share": each.share} for each in reasons.features],
        "pieces": [{"text": each.text, "share": each.share} for each in pieces],
    }
