"""``max_iter="auto"``: how many passes to make, from what models say before they learn a text.

More passes follow the texts more closely. That helps where labels can be trusted, above all with
few texts, and harms where they cannot. So models of some of the texts are trained first, for this
decision alone: a third of the texts is scored by a model that has learned the other two thirds,
after every number of passes to choose from. The loss of a score m, with the sign of what it should
have been, is that of AROW, max(0, 1 − s m)², summed over classes, with the scale s that makes it
least: later passes increase scores, whether or not they improve them. The number of passes with
the lowest loss is chosen. All texts are then learned; the models of the decision are dropped.

Where that is more than one, the calibrator of the first pass has followed other scores. So the
models of the decision are trained once more, with this number of passes, and then learn the third
that they have not learned: what a calibrator learns from that is kept.

The decision takes at most `MOST` texts, and as many of the three thirds as it takes to score
`ENOUGH` texts. More texts need fewer passes: the number is divided by √(n / MOST) where there are
n, and is 1 from `MANY` on. It depends on the texts, their labels and the seed alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sureline.data import NamedFeatures
from sureline.data.label_sets import LabelSets
from sureline.estimators.text.pipeline import TextPipeline
from sureline.kernels.calibration import LOG_A, LOG_TAU, WEIGHT, H
from sureline.kernels.label_sets import LINES
from sureline.model.learner import AGAIN, COUNT_ONLY, COUNTED, NEW, Floats, Turn
from sureline.model.text import TextModel

if TYPE_CHECKING:
    from sureline.estimators.parallel.thread_pool import ThreadPool
    from sureline.estimators.text.classifier import TextClassifier

AUTO = "auto"
CANDIDATES = (1, 2, 3, 5, 10, 20)  # numbers of passes to choose from
LARGEST = 10  # of them, with more texts than `ENOUGH`
PARTS = 3  # one of them is scored, the others are learned
ENOUGH = 1000  # texts that are scored
MOST = PARTS * ENOUGH  # texts that take part in the decision
MANY = 100_000
SMALLEST_SCALE, LARGEST_SCALE = 0.1, 200.0
LEARNED = np.r_[LOG_A : LOG_TAU + 1, H : H + 6]  # of a calibrator: three numbers, their precision
HALVINGS = 40  # of the interval between these, until s is known


class LabelledTexts(NamedTuple):
    """Texts with their labels and weights, and what is named beside them."""

    text: pa.LargeStringArray
    y: Any  # an array of labels, or `LabelSets`
    weight: Floats
    named: NamedFeatures | None = None

    def take(self, rows: NDArray[np.intp]) -> LabelledTexts:
        """Some of them, in this order."""
        named = None if self.named is None else self.named.take(rows)
        return LabelledTexts(self.text.take(pa.array(rows)), self.y[rows], self.weight[rows], named)


def sample_rows(count: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Which of so many texts take part in the decision; the state of `rng` stays as it is."""
    return _copy(rng).permutation(count)[:MOST]


class Choice(NamedTuple):
    """How many passes to make, and what a calibrator learns of scores after so many.

    Of sets of labels, `calibrator` has the calibrators and outcomes of all `labels`, too.
    """

    passes: int
    calibrator: list[float]
    labels: list[Any] = []  # noqa: RUF012 (it is never changed)

    def finish(self, model: TextModel) -> None:
        """Let the calibrator of a model that has made all passes follow what was chosen."""
        if self.calibrator:
            with model.lock.write():
                give_calibration(model, self.calibrator, self.labels)


def calibration_of(model: TextModel) -> list[float]:
    """What the calibrator of a model has learned, as `Choice` has it."""
    state = model.state
    learned: list[float] = state.calibrator[LEARNED].tolist()
    if model.learner.multilabel:
        columns = label_columns(model, model.classes)
        outcomes = state.outcomes[1:].T[columns] / state.calibrator[WEIGHT]
        learned += np.hstack([state.fits[columns][:, LEARNED], outcomes]).ravel().tolist()
    return learned


def calibrator_size(labels: list[Any]) -> int:
    """How many numbers a `Choice` has for so many labels; none where rows have one each."""
    each = LEARNED.size + LINES - 1
    return int(LEARNED.size + ((1 + len(labels)) * each if labels else 0))


def give_calibration(model: TextModel, calibrator: list[float], labels: list[Any]) -> None:
    """Let a model with at least these labels have what `calibration_of` another has found."""
    state = model.state
    state.calibrator[LEARNED] = calibrator[: LEARNED.size]
    if model.learner.multilabel:
        columns = label_columns(model, labels)
        numbers = np.array(calibrator[LEARNED.size :]).reshape(columns.size, -1)
        state.outcomes[1:] /= state.calibrator[WEIGHT]
        state.calibrator[WEIGHT] = 1.0
        state.fits[columns[:, np.newaxis], LEARNED] = numbers[:, : LEARNED.size]
        state.outcomes[1:, columns] = numbers[:, LEARNED.size :].T


def label_columns(model: TextModel, labels: Any) -> NDArray[np.intp]:
    """The first column, which belongs to no label, and those of some labels."""
    places = {label: k for k, label in enumerate(model.labels.tolist(), 1)}
    return np.array([0, *(places[label] for label in np.asarray(labels).tolist())])


def choose_passes(
    classifier: TextClassifier,
    sample: LabelledTexts,
    count: int,
    rng: np.random.RandomState,
    pool: ThreadPool | None = None,
) -> Choice:
    """How many passes to make over so many texts, of which these, in random order, are a sample.

    The state of `rng` stays as it is, so that the passes which follow are those of a classifier
    that was given their number. Two threads share the work where a pool is given.
    """
    kept = np.flatnonzero(sample.weight > 0)
    several = isinstance(sample.y, LabelSets)
    classes = (
        sample.y[kept].present if isinstance(sample.y, LabelSets) else np.unique(sample.y[kept])
    )
    parts = np.array_split(kept, PARTS)
    parts = parts[: max(1, -(-ENOUGH // max(parts[0].size, 1)))]
    if classes.size < 2 - several or kept.size < PARTS:
        return Choice(1, [])
    trials = [
        _Trial(classifier, sample.take(np.setdiff1d(kept, part)), sample.take(part), classes, pool)
        for part in parts
    ]
    first, scores = _copy(rng), dict[int, list[Floats]]()
    most = LARGEST if kept.size > ENOUGH else max(CANDIDATES)
    for trial in trials:
        for number, found in trial.scores(first, most).items():
            scores.setdefault(number, []).append(found)
    rows = np.concatenate(parts)
    y, weight = sample.y[rows], sample.weight[rows]
    truth = y.indicator(classes) if isinstance(y, LabelSets) else np.searchsorted(classes, y)
    losses = {n: loss_of(np.concatenate(found), truth, weight) for n, found in scores.items()}
    passes = min(losses, key=lambda number: losses[number])
    passes = max(1, round(passes * min(1.0, sqrt(MOST / count))))
    calibrator, again = list[float](), _copy(rng)
    for trial in trials if passes > 1 else []:
        calibrator = trial.calibrate(again, passes, calibrator)
    return Choice(passes, calibrator, classes.tolist() if several else [])


class _Trial:
    """Texts to learn and others to be scored by what has learned them, for the decision alone."""

    def __init__(
        self,
        classifier: TextClassifier,
        learned: LabelledTexts,
        judged: LabelledTexts,
        classes: NDArray[Any],
        pool: ThreadPool | None,
    ) -> None:
        self.classifier, self.learned, self.judged = classifier, learned, judged
        self.classes, self.pool = classes, pool

    def scores(self, rng: np.random.RandomState, most: int) -> dict[int, Floats]:
        """The scores of the judged texts, by the number of passes over the others."""
        found, rows, features = dict[int, Floats](), None, 0
        for number, model in self._passes(rng, most):
            if number in CANDIDATES:
                # No pass after the first finds new features, but the next one may forget some.
                if rows is None or features != model.n_features:
                    tokens = model.tokenizer.read(self.judged.text, self.judged.named)
                    rows, features = model.rows(tokens), model.n_features
                found[number] = model.scores(rows)
        return found

    def calibrate(
        self, rng: np.random.RandomState, passes: int, calibrator: list[float]
    ) -> list[float]:
        """What a calibrator has learned when it has followed the judged texts, too."""
        for number, model in self._passes(rng, passes):
            if number == passes and model.is_calibrated:
                fresh = model.on(model.fresh_state(0, self.classes.size))
                labels = self.classes.tolist() if model.learner.multilabel else []
                give_calibration(model, calibrator or calibration_of(fresh), labels)
                self._learn(model, self.judged, NEW)
                calibrator = calibration_of(model)
        return calibrator

    def _passes(self, rng: np.random.RandomState, passes: int) -> Iterator[tuple[int, TextModel]]:
        """A model after each of so many passes."""
        _, model = self.classifier.begin(isinstance(self.learned.y, LabelSets))
        if self.classifier.counts_first:
            self._learn(model, self.learned, COUNT_ONLY)
        for number in range(passes):
            turn = AGAIN if number else COUNTED if self.classifier.counts_first else NEW
            order = rng.permutation(self.learned.y.size)
            self._learn(model, self.learned.take(order), turn)
            yield number + 1, model

    def _learn(self, model: TextModel, texts: LabelledTexts, turn: Turn) -> None:
        text, y, weight, named = texts
        TextPipeline(model, text, y, weight, self.classes, turn, named).run(self.pool)


def loss_of(scores: Floats, truth: NDArray[Any], weight: Floats) -> float:
    """The mean loss of scores by class, or of the second of two, at the best scale.

    `truth` has the class of each row, or a line of all classes where rows may have several.
    """
    if truth.ndim == 2:
        margins = np.where(truth, scores, -scores)
    elif scores.shape[1] == 1:
        margins = scores * np.where(truth == 1, 1.0, -1.0)[:, np.newaxis]
    else:
        margins = -scores
        own = np.arange(truth.size), truth
        margins[own] = -margins[own]
    low, high = SMALLEST_SCALE, LARGEST_SCALE  # the loss is convex in s
    for _ in range(HALVINGS):
        s = sqrt(low * high)
        missing = np.maximum(0.0, 1.0 - s * margins)
        if weight @ (margins * missing).sum(axis=1) > 0.0:  # it still falls
            low = s
        else:
            high = s
    return float(weight @ np.square(missing).sum(axis=1) / weight.sum())


def _copy(rng: np.random.RandomState) -> np.random.RandomState:
    """A random generator that continues as another does, and leaves that one where it is."""
    copy = np.random.RandomState()
    copy.set_state(rng.get_state())
    return copy
