"""What learns a stream in the comparison: sureline, others as they come, and what was tried.

Each learner is a function of a stream's texts and labels that returns its prediction of every text
before it learned it, and the alarms that it raised.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline import Drift, TextClassifier
from sureline.evaluation import progressive

Labels = NDArray[Any]
Found = tuple[Labels, list[int]]
Learner = Callable[[Sequence[str], Labels], Found]

WINDOW = 100  # texts that the reactive one of paired learners knows
EVERY = 10  # so often it is trained anew
AHEAD = 8  # so many of the last texts it must be right about where the stable one is not


def alone(texts: Sequence[str], labels: Labels, drift: Any) -> Found:
    """`TextClassifier` as it comes, with a drift parameter."""
    found = progressive(TextClassifier(drift=drift), list(texts), labels)
    return found.predictions[0], [change.at for change in found.model.changes_]


def passive_aggressive(texts: Sequence[str], labels: Labels) -> Found:
    """scikit-learn: hashed words and PA-I."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    rows = HashingVectorizer(n_features=2**18).transform(texts)
    model = SGDClassifier(penalty=None, learning_rate="pa1", eta0=1.0)
    found, classes = np.full(len(texts), None, dtype=object), np.unique(labels)
    for k in range(len(texts)):
        if k:
            found[k] = model.predict(rows[k])[0]
        model.partial_fit(rows[k], labels[k : k + 1], classes=classes)
    return found, []


def retrained_bayes(texts: Sequence[str], labels: Labels) -> Found:
    """River: words and Bernoulli naive Bayes, retrained where DDM sounds.

    With alpha=1, River's default, it is right on 0.65 of the first stream, and with 0.01 on 0.82.
    """
    from river import compose, drift, feature_extraction, naive_bayes

    learner = drift.DriftRetrainingClassifier(
        model=naive_bayes.BernoulliNB(alpha=0.01), drift_detector=drift.binary.DDM()
    )
    model = compose.Pipeline(feature_extraction.BagOfWords(lowercase=True), learner)
    found = np.full(len(texts), None, dtype=object)
    for k, (text, label) in enumerate(zip(texts, labels.tolist(), strict=True)):
        found[k] = model.predict_one(text)
        model.learn_one(text, label)
    return found, []


def detectors() -> dict[str, Callable[[], Any]]:
    """Detectors of change from the literature, of River, with its settings."""
    from river import drift

    return {
        "DDM": drift.binary.DDM,
        "EDDM": drift.binary.EDDM,
        "ADWIN": drift.ADWIN,
        "Page-Hinkley": partial(drift.PageHinkley, mode="up"),
    }


def restarted(texts: Sequence[str], labels: Labels, detector: str) -> Found:
    """`TextClassifier(drift=None)`, begun anew where a detector sounds about its mistakes."""
    watch, model = detectors()[detector](), TextClassifier(drift=None)
    found, alarms = np.full(len(texts), None, dtype=object), list[int]()
    for k, (text, label) in enumerate(zip(texts, labels.tolist(), strict=True)):
        if model.__sklearn_is_fitted__():
            found[k] = model.predict_one(text)
            watch.update(int(found[k] != label))
            if watch.drift_detected:
                alarms.append(k)
                watch, model = detectors()[detector](), TextClassifier(drift=None)
        model.learn_one(text, label)
    return found, alarms


def unconfident(texts: Sequence[str], labels: Labels) -> Found:
    """The same with all confidence given up at an alarm of Page-Hinkley, and the means kept."""
    watch, model = detectors()["Page-Hinkley"](), TextClassifier(drift=None)
    found, alarms = np.full(len(texts), None, dtype=object), list[int]()
    for k, (text, label) in enumerate(zip(texts, labels.tolist(), strict=True)):
        if k:
            found[k] = model.predict_one(text)
            watch.update(int(found[k] != label))
            if watch.drift_detected:
                alarms.append(k)
                watch = detectors()["Page-Hinkley"]()
                state = model.model_.state
                state.table[:, 1] = state.layout.initial_variance
        model.learn_one(text, label)
    return found, alarms


def paired(texts: Sequence[str], labels: Labels) -> Found:
    """Paired learners: replaced by one of the last texts where that one is right more often."""
    stable, reactive = TextClassifier(drift=None), None
    found, alarms = np.full(len(texts), None, dtype=object), list[int]()
    better = deque[int](maxlen=WINDOW)
    for k, (text, label) in enumerate(zip(texts, labels.tolist(), strict=True)):
        if k:
            found[k] = stable.predict_one(text)
            other = label if reactive is None else reactive.predict_one(text)
            better.append(int(found[k] != label and other == label))
        stable.learn_one(text, label)
        if k % EVERY == EVERY - 1 and k >= WINDOW:
            last = slice(k + 1 - WINDOW, k + 1)
            reactive = TextClassifier(drift=None).partial_fit(list(texts[last]), labels[last])
            if sum(better) >= AHEAD:
                alarms.append(k)
                stable, reactive = reactive, None
                better.clear()
    return found, alarms


SKLEARN = "scikit-learn, HashingVectorizer(n_features=2**18), pa1"
AUTO, NONE = "sureline, drift='auto'", "sureline, drift=None"
BAYES = "River, BagOfWords, BernoulliNB retrained by DDM"
MAIN: dict[str, Learner] = {
    AUTO: partial(alone, drift="auto"),
    NONE: partial(alone, drift=None),
    SKLEARN: passive_aggressive,
    BAYES: retrained_bayes,
}
TRIED: dict[str, Learner] = {
    "Drift(memory=0): no earlier models": partial(alone, drift=Drift(memory=0)),
    "Drift(false_alarms=1e-2)": partial(alone, drift=Drift(false_alarms=1e-2)),
    "Drift(false_alarms=1e-6)": partial(alone, drift=Drift(false_alarms=1e-6)),
    "Drift(half_life=100), no alarms": partial(
        alone, drift=Drift(false_alarms=None, half_life=100)
    ),
    "Drift(half_life=300), no alarms": partial(
        alone, drift=Drift(false_alarms=None, half_life=300)
    ),
    "Drift(half_life=1000), alarms too": partial(alone, drift=Drift(half_life=1000)),
    **{
        f"begun anew by {name}": partial(restarted, detector=name)
        for name in ("DDM", "EDDM", "ADWIN", "Page-Hinkley")
    },
    "confidence given up by Page-Hinkley": unconfident,
    "paired learners, window 100": paired,
}
LEARNERS: dict[str, Learner] = MAIN | TRIED
