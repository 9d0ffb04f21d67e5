"""What the demonstration finds out: everything that it prints is computed here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numba.core import event
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from sureline.data import sms_spam
from sureline.estimators import AROWClassifier
from sureline.rules import rules

TEST_SHARE = 0.3
SEED = 0
TOP = 6
SPAM = "spam"
# One-letter words count: in text messages "u", "2" and "4" are words like others.
WORD = re.compile(r"\w+")
# The message to explain: caught, but less surely than most, and short enough to read.
QUANTILE = 0.25
READABLE = range(60, 141)


@dataclass(frozen=True)
class Weight:
    """A word or a pair of words, its weight and how unsure the model is of it.

    Positive weights speak for spam, negative ones for ham.
    """

    feature: str
    weight: float
    deviation: float


@dataclass(frozen=True)
class Share:
    """What a feature of the explained message, or a piece of its text, adds to the score."""

    text: str
    share: float


@dataclass(frozen=True)
class Explanation:
    """A test message and where its score comes from: the features' shares and the constant."""

    message: str
    label: str
    prediction: str
    probability: float
    score: float
    deviation: float
    constant: float
    features: list[Share]
    pieces: list[Share]


@dataclass(frozen=True)
class Seconds:
    """How long each part took."""

    loading: float
    vectorizing: float
    compiling: float
    learning: float
    predicting: float
    total: float


@dataclass(frozen=True)
class Facts:
    """All that the demonstration shows."""

    data: str
    labels: dict[str, int]
    classifier: str
    rule: str
    passes: int
    features: int
    trained: int
    tested: int
    errors: int
    majority: str
    majority_errors: int
    spam_tested: int
    spam_caught: int
    ham_tested: int
    ham_flagged: int
    for_spam: list[Weight]
    for_ham: list[Weight]
    explanation: Explanation
    functions_compiled: int
    seconds: Seconds


class Stopwatch:
    """Tells the time since it was last asked."""

    def __init__(self, started: float) -> None:
        self._last = started

    def lap(self) -> float:
        """The seconds since the last lap."""
        now = perf_counter()
        self._last, seconds = now, now - self._last
        return seconds


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


def find_facts(say: Callable[[str], None], started: float) -> Facts:
    """Learn, test and explain; `say` is told what is going on."""
    watch = Stopwatch(started)
    loading = watch.lap()

    say("turning messages into words and pairs of words")
    texts, labels = sms_spam()
    train, test, y_train, y_test = train_test_split(
        texts, np.array(labels), test_size=TEST_SHARE, stratify=labels, random_state=SEED
    )
    vectorizer = CountVectorizer(
        binary=True, ngram_range=(1, 2), token_pattern=WORD.pattern, dtype=np.float32
    )
    X_train = normalize(vectorizer.fit_transform(train))
    X_test = normalize(vectorizer.transform(test))
    vectorizing = watch.lap()

    # One message of each class takes every compiled function through its first call.
    say("loading the compiled functions")
    model = AROWClassifier(r=0.1, max_iter=1, random_state=SEED)
    with event.install_listener("numba:compile", Compilations(say)) as compilations:
        _, first = np.unique(y_train, return_index=True)
        model.fit(X_train[first], y_train[first]).predict_proba(X_train[first])
    compiling = watch.lap()

    say("learning")
    model.fit(X_train, y_train)
    learning = watch.lap()
    predicted = model.predict(X_test)
    predicting = watch.lap()

    [(majority, _)] = Counter(y_train.tolist()).most_common(1)
    spam, flagged = y_test == SPAM, predicted == SPAM
    names = vectorizer.get_feature_names_out()
    chosen = _choose(test, model.predict_proba(X_test)[:, 1], spam & flagged)
    explanation = _explain(model, names, test[chosen], y_test[chosen], X_test[chosen])
    [rule] = [rule.name for rule in rules().values() if rule.estimator == type(model).__name__]
    return Facts(
        data="SMS Spam Collection",
        labels=dict(Counter(labels)),
        classifier=repr(model),
        rule=rule,
        passes=model.n_iter_,
        features=names.size,
        trained=len(train),
        tested=len(test),
        errors=int((predicted != y_test).sum()),
        majority=majority,
        majority_errors=int((y_test != majority).sum()),
        spam_tested=int(spam.sum()),
        spam_caught=int((spam & flagged).sum()),
        ham_tested=int((~spam).sum()),
        ham_flagged=int((~spam & flagged).sum()),
        for_spam=_most_telling(model, names, 1.0),
        for_ham=_most_telling(model, names, -1.0),
        explanation=explanation,
        functions_compiled=compilations.count,
        seconds=Seconds(
            loading, vectorizing, compiling, learning, predicting, perf_counter() - started
        ),
    )


def _most_telling(model: AROWClassifier, names: NDArray[Any], sign: float) -> list[Weight]:
    """The features that speak most for one class, even if each weight is off by its deviation."""
    weights, deviations = model.coef_[0], np.sqrt(model.variance_[0])
    ranked = np.argsort(deviations - sign * weights, kind="stable")[:TOP]
    return [Weight(str(names[j]), float(weights[j]), float(deviations[j])) for j in ranked]


def _choose(texts: list[str], probability: NDArray[Any], caught: NDArray[np.bool_]) -> int:
    """The readable caught message whose probability is nearest to the quantile of them all."""
    goal = np.quantile(probability[caught], QUANTILE)
    readable = [len(text) in READABLE and text.isprintable() for text in texts]
    candidates = np.flatnonzero(caught & np.array(readable))
    return int(candidates[np.argmin(abs(probability[candidates] - goal))])


def _explain(
    model: AROWClassifier,
    names: NDArray[Any],
    message: str,
    label: str,
    row: Any,
) -> Explanation:
    """Where the score of a message comes from, by feature and by piece of text."""
    mean, variance = model.decision_distribution(row)
    shares = row.data * model.coef_[0, row.indices].astype(np.float64)
    by_name = {str(names[j]): float(s) for j, s in zip(row.indices, shares, strict=True)}
    ranked = sorted(by_name.items(), key=lambda item: -abs(item[1]))
    return Explanation(
        message=message,
        label=str(label),
        prediction=str(model.predict(row)[0]),
        probability=float(model.predict_proba(row)[0, 1]),
        score=float(mean[0]),
        deviation=float(np.sqrt(variance[0])),
        constant=float(model.intercept_[0]),
        features=[Share(name, share) for name, share in ranked],
        pieces=_pieces(message, by_name),
    )


def _pieces(message: str, by_name: dict[str, float]) -> list[Share]:
    """The message cut into words and what stands between them, each with its share of the score.

    A pair's share goes half to each of its words, and that of a feature which occurs several times
    is split evenly, so that the pieces add up to what the features add up to.
    """
    spans = [match.span() for match in WORD.finditer(message)]
    words = [message[start:stop].lower() for start, stop in spans]
    pairs = [" ".join(pair) for pair in pairwise(words)]
    often = Counter(words + pairs)
    shares = [by_name.get(word, 0.0) / often[word] for word in words]
    for k, pair in enumerate(pairs):
        half = by_name.get(pair, 0.0) / often[pair] / 2
        shares[k] += half
        shares[k + 1] += half
    pieces, end = list[Share](), 0
    for (start, stop), share in zip(spans, shares, strict=True):
        pieces += [Share(message[end:start], 0.0), Share(message[start:stop], share)]
        end = stop
    pieces.append(Share(message[end:], 0.0))
    return [piece for piece in pieces if piece.text]
