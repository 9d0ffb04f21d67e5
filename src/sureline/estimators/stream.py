"""From batches of rows to a model and from a model to answers, for texts and numbers alike.

Texts are learned by a `TextClassifier`, svmlight rows by an online classifier on its own, whose
number of features grows as larger ones come.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sureline.data import Batch, as_labels
from sureline.errors import DataError, InvalidParameter
from sureline.estimators.input_rows import as_rows
from sureline.estimators.online import OnlineClassifier
from sureline.estimators.parallel.shards import Crew, Shards
from sureline.estimators.parallel.text_shards import TextShards
from sureline.estimators.text.classifier import TextClassifier
from sureline.features.rows import Rows
from sureline.model.learner import NEW, Floats, Turn

WHOLE = re.compile(r"[-+]?\d+(?:\.0*)?", re.ASCII)
WORDS_OF_TRUTH = {"true": True, "false": False}


class Counts(NamedTuple):
    """How many examples were learned from, changed the model, and were mistaken beforehand."""

    seen: int = 0
    updates: int = 0
    mistakes: int = 0


@dataclass(frozen=True)
class Answers:
    """What a model says of the rows of a batch.

    Parameters
    ----------
    label : array of shape (n,)
        The class of the highest mean score.
    probability : array of shape (n,) or None
        The probability of that class; None where the rule keeps no variances.
    margin : array of shape (n,)
        The mean score of that class; of two classes, by how much it leads.
    variance : array of shape (n,) or None
        The variance of that score; None where the rule keeps none.
    probabilities : array of shape (n, n_classes) or None
        The probability of every class, in the order of ``classes_``.
    """

    label: NDArray[Any]
    probability: Floats | None
    margin: Floats
    variance: Floats | None
    probabilities: Floats | None


class Stream:
    """Learns batches into a model, one after the other; how the rows are cut makes no difference.

    Two jobs share the work on every text, and learn what one would. More than two, or two that
    learn numbers, learn in rounds: each job learns its share into a copy of the model, and `gather`
    ends the round. A row that shows a new class is learned between two rounds.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        What learns: the first takes texts, the second svmlight rows.
    classes : sequence of str, default=None
        Labels to know beforehand, as text; they become what the labels of the first batch are.
    labels : sequence, default=()
        Labels to know beforehand, as the rows have them, if none are named by `classes`.
    jobs : int, default=1
        How many threads learn.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sureline.data import Batch
    >>> from sureline.estimators import TextClassifier
    >>> from sureline.estimators.stream import Stream
    >>> rows = Batch(
    ...     text=pa.array(["win a prize", "lunch?"], pa.large_string()),
    ...     label=pa.array(["spam", "ham"], pa.large_string()),
    ... )
    >>> stream = Stream(TextClassifier(), classes=["ham", "spam"])
    >>> stream.learn(rows)
    >>> stream.counts.seen, stream.model.predict_one("a prize")
    (2, 'spam')
    """

    def __init__(
        self,
        model: Any,
        classes: Sequence[str] | None = None,
        labels: Sequence[Any] = (),
        jobs: int = 1,
    ) -> None:
        self.model = model
        self._crew = Crew(jobs) if jobs > 1 else None
        # Two threads that share the work on every text.
        self._pair = self._crew if jobs == 2 and isinstance(model, TextClassifier) else None
        self._shards: Shards | None = None
        self._named = None if classes is None else list(classes)
        self._classes: NDArray[Any] | None = as_labels(list(labels)) if labels else None

    @property
    def in_round(self) -> bool:
        """Whether jobs have learned rows that the model has not."""
        return self._shards is not None and self._shards.busy

    @property
    def counts(self) -> Counts:
        """How much has been learned so far."""
        if self._shards is not None and self._shards.busy:
            updates, mistakes, seen = (int(count) for count in self._shards.counts)
        elif self.model.__sklearn_is_fitted__():
            updates, mistakes, seen = (int(count) for count in self.model._state.counts)
        else:
            return Counts()
        return Counts(seen, updates, mistakes)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        if self._shards is not None and self._shards.busy:
            return self._shards.classes
        return int(self.model.classes_.size) if self.model.__sklearn_is_fitted__() else 0

    @property
    def features(self) -> int:
        """How many features there are; in a round, how many one job knows at most."""
        if self._shards is not None and self._shards.busy:
            return self._shards.features
        return count_features(self.model)

    def learn(self, batch: Batch, turn: Turn = NEW) -> None:
        """Learn the rows of a batch, in order.

        Parameters
        ----------
        batch : Batch
            Rows with labels, of the kind that the model takes.
        turn : Turn, default=NEW
            Whether the rows have been read or learned before. If they were read, no new feature
            gets a column and none is counted again.
        """
        check_kind(self.model, batch)
        if not len(batch):
            return
        labels = self._known_labels(batch)
        if self._crew is None or self._pair is not None:
            self._learn_alone(batch, labels, turn)
            return
        begin = 0
        for row in self._rows_of_new_classes(labels, batch):
            self._deal(self._crew, batch.slice(begin, row), labels[begin:row], turn)
            self.gather()
            self._learn_alone(batch.slice(row, row + 1), labels[row : row + 1], turn)
            self._shards, begin = None, row + 1
        self._deal(self._crew, batch.slice(begin, len(batch)), labels[begin:], turn)

    def count(self, batch: Batch) -> None:
        """Count the texts of a batch, give their features columns, and learn nothing.

        Parameters
        ----------
        batch : Batch
            Texts with labels.
        """
        if batch.text is None:
            raise InvalidParameter(
                f"texts can be counted first, but {batch.source or 'the input'} holds svmlight "
                "rows; leave out --count-first"
            )
        check_kind(self.model, batch)
        if not len(batch):
            return
        model, labels = self.model, self._known_labels(batch)
        fitted = model.__sklearn_is_fitted__()
        # Classes that are counted must be known: a row lets in a class only when it is learned.
        kept = slice(None) if batch.weight is None else batch.weight > 0
        known = np.unique(labels[kept])
        known = known if self._classes is None else np.union1d(known, self._classes)
        counts = model._state.counts.copy() if fitted else np.zeros(3, np.int64)
        clock = model._state.clock if fitted else 0
        weight = _weights_of(batch)
        model._take_in(batch.text, labels, weight, known, batch.given, learning=False)
        if model.__sklearn_is_fitted__():  # what was counted has not been seen by a learner
            model._state.counts[:], model._state.clock = counts, clock

    def _known_labels(self, batch: Batch) -> NDArray[Any]:
        """The labels of a batch; the first batch decides of which type those named are."""
        labels = _labels_of(batch)
        if self._named is not None:
            self._classes, self._named = typed_labels(self._named, labels.dtype), None
        return labels

    def gather(self) -> None:
        """End a round: let the model have all that its jobs have learned."""
        if self._shards is not None:
            with self.model._gate.writing:
                self._shards.gather()

    def _rows_of_new_classes(self, labels: NDArray[Any], batch: Batch) -> list[int]:
        """The rows that first show a class, in order; rows that do not count show none."""
        fitted = self.model.__sklearn_is_fitted__()
        known = [self.model._labels] if fitted else []
        known += [] if self._classes is None else [self._classes]
        kept = np.arange(labels.size)
        if batch.weight is not None:
            kept = np.flatnonzero(batch.weight > 0)
        every = set(np.concatenate(known).tolist()) if known else set()
        rows = list[int]()
        values, first = np.unique(labels[kept], return_index=True)
        for value, place in zip(values.tolist(), first.tolist(), strict=True):
            if value not in every:
                rows.append(int(kept[place]))
        return sorted(rows)

    def _deal(self, crew: Crew, batch: Batch, labels: NDArray[Any], turn: Turn) -> None:
        """Let every job learn its share of rows, all of whose classes are known."""
        if not len(batch):
            return
        model = self.model
        weight = _weights_of(batch)
        with model._gate.writing:
            if batch.text is not None:
                known, weight = model._ready(labels, weight)
                shards = self._shards
                if not isinstance(shards, TextShards):
                    shards = self._shards = TextShards(model, known, crew)
                shards.learn_texts(batch.text, labels, weight, self._classes, turn, batch.given)
                return
            learner = model._stream_learner()
            if self._shards is None:
                self._shards = Shards(model, learner, crew, type(model).__name__)
            weight = model._stream_weights(learner, labels, weight)
            rows, width = self._numbers(batch)
            self._shards.learn(rows, labels, weight, self._classes, width, turn)
            model.n_features_in_ = width

    def _learn_alone(self, batch: Batch, labels: NDArray[Any], turn: Turn) -> None:
        """Learn rows one after the other, right into the model."""
        model = self.model
        weight = _weights_of(batch)
        if batch.text is not None:
            texts = batch.text, labels, weight, self._classes, batch.given
            model._take_in(*texts, turn, crew=self._pair)
            return
        rows, width = self._numbers(batch)
        with model._gate.writing:
            learner = model._stream_learner()
            weight = model._stream_weights(learner, labels, weight)
            model._learn_rows(learner, rows, labels, weight, self._classes, width, turn)
            model.n_features_in_ = width

    def _numbers(self, batch: Batch) -> tuple[Rows, int]:
        """Sparse rows, and as many features as the widest row so far needs."""
        rows = _number_rows(self.model, batch)
        widest = int(rows.indices.max(initial=0)) + 1
        return rows, max(widest, getattr(self.model, "n_features_in_", 1))

    def settle(self) -> None:
        """Give back the room kept for features that never came; learning may go on."""
        model = self.model
        if isinstance(model, TextClassifier) or not model.__sklearn_is_fitted__():
            return
        state, rows = model._state, model.n_features_in_ + 1
        if state.table.shape[0] > rows:
            model._state = replace(
                state,
                table=state.table[:rows].copy(),
                covariance=state.covariance[:, :rows, :rows].copy(),
                stamps=state.stamps[:rows].copy(),
            )


def answer(model: Any, batch: Batch) -> Answers:
    """What a fitted model says of the rows of a batch.

    Features that the model has not met count as they would in a model that had just begun: they
    move no score and make it less certain.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        The fitted model.
    batch : Batch
        Rows of the kind that the model takes; labels are not needed.

    Returns
    -------
    Answers
        The labels and how sure the model is of them.
    """
    check_kind(model, batch)
    unsure = bool(model._has_variance)
    learner = model._learner()
    means, deviations = list[Floats](), list[Floats]()
    for rows in _rows_of(model, batch):
        if not unsure:
            means.append(model._scores(rows))
            continue
        mean, deviation = learner.moments(model._state, rows)
        means.append(model._by_class(mean))
        deviations.append(model._by_class(deviation))
    classes, n = model.classes_, len(batch)
    width = model._state.used if model._state.wide else 1
    mean = np.concatenate(means) if means else np.zeros((0, width))
    every = np.arange(n)
    best = np.zeros(n, np.intp) if classes.size == 1 else model._winners(mean)
    if classes.size <= 2:
        score = model._told(mean)
        margin = np.abs(score) if classes.size == 2 else score
    else:
        margin = mean[every, best]
    if not unsure:
        return Answers(classes[best], None, margin, None, None)
    spread = np.concatenate(deviations) if deviations else np.zeros((0, width))
    if spread.shape[1] == 2:
        spread = np.hypot(spread[:, :1], spread[:, 1:])
    told = spread[:, 0] if spread.shape[1] == 1 else spread
    chance = model._chances(model._told(mean), told)
    won = best if classes.size > 2 else np.zeros(n, np.intp)
    return Answers(
        classes[best], chance[every, best], margin, np.square(spread[every, won]), chance
    )


def _rows_of(model: Any, batch: Batch) -> Iterator[Rows]:
    """The rows of a batch as the model's features, a piece at a time."""
    if batch.text is None:
        if len(batch):
            rows = _number_rows(model, batch)
            width = int(batch.matrix.shape[1])
            if width > model._state.features:
                model._state = model._state.with_features(
                    width, model.memory_limit_gb, type(model).__name__
                )
            yield rows
        return
    known = model._known
    for _, found in known.scheme.pieces(batch.text, batch.given):
        yield model._look_up(known, found)


def _number_rows(model: OnlineClassifier, batch: Batch) -> Rows:
    """Sparse rows of the model's kind of number, all of them finite."""
    with np.errstate(over="ignore"):  # a number too large for float32 becomes an error
        matrix = csr_array(batch.matrix, dtype=model.dtype)
    wrong = np.flatnonzero(~np.isfinite(matrix.data))
    if wrong.size:
        row = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
        raise DataError(
            f"{batch.source}, row {batch.first_row + row + 1}: feature "
            f"{matrix.indices[wrong[0]]} is {matrix.data[wrong[0]]}; give finite numbers that fit "
            f"{model.dtype}"
        )
    return as_rows(matrix)


def count_features(model: Any) -> int:
    """How many features a model has met.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        A model, fitted or not.
    """
    if not model.__sklearn_is_fitted__():
        return 0
    return int(model.n_features_ if isinstance(model, TextClassifier) else model.n_features_in_)


def check_kind(model: Any, batch: Batch) -> None:
    """Refuse texts for a model of numbers, and numbers for a model of texts.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        The model.
    batch : Batch
        Rows for it.
    """
    takes_text = isinstance(model, TextClassifier)
    if takes_text != (batch.text is not None):
        takes, holds = ("texts", "svmlight rows") if takes_text else ("svmlight rows", "texts")
        raise DataError(
            f"{batch.source or 'the input'} holds {holds}, but the model takes {takes}; give it "
            f"{takes}, or train a model of the other kind"
        )


def _labels_of(batch: Batch) -> NDArray[Any]:
    """The labels of a batch; numbers with fractions are none."""
    labels = as_labels(batch.label)
    if labels.dtype.kind == "f":
        broken = np.flatnonzero(~(labels == np.floor(labels)))
        if broken.size:
            raise DataError(
                f"{batch.source}: the label {labels[broken[0]]} is no class but a number with a "
                "fraction; give classes, or read labels as text (--label-type text)"
            )
    return labels


def _weights_of(batch: Batch) -> Floats:
    """How much each row of a batch counts; 1 where nothing is said."""
    return np.ones(len(batch)) if batch.weight is None else batch.weight


def typed_labels(words: Sequence[str], kind: np.dtype[Any]) -> NDArray[Any]:
    """Labels written as text, as values of the kind that a model or an input has.

    Parameters
    ----------
    words : sequence of str
        The labels as people write them.
    kind : dtype
        What they are to become: text, whole numbers, floats or booleans.

    Returns
    -------
    array
        The labels; an InvalidParameter where one cannot be such a value.
    """
    if kind.kind in "USOT":
        return np.array(list(words), dtype=object if kind.kind == "O" else None)
    values = [read_label(word, kind) for word in words]
    for word, value in zip(words, values, strict=True):
        if value is None:
            are = {"i": "whole numbers", "u": "whole numbers", "f": "numbers", "b": "true or false"}
            raise InvalidParameter(
                f"the class {word!r} was named, but the labels of the input are "
                f"{are.get(kind.kind, str(kind))}; name such, or read labels as text "
                "(--label-type text)"
            )
    return np.array(values, dtype=kind)


def read_label(word: str, kind: np.dtype[Any]) -> Any:
    """A label written as text as a value of a kind, or None if it is none.

    Parameters
    ----------
    word : str
        The label as written.
    kind : dtype
        Text, whole numbers, floats or booleans.

    Examples
    --------
    >>> import numpy as np
    >>> from sureline.estimators.stream import read_label
    >>> read_label("+1.0", np.dtype(int)), read_label("one", np.dtype(int))
    (1, None)
    """
    if kind.kind in "USOT":
        return word
    if kind.kind == "b":
        return WORDS_OF_TRUTH.get(word.lower())
    if kind.kind in "iu":
        return int(word.partition(".")[0]) if WHOLE.fullmatch(word) else None
    try:
        return float(word)
    except ValueError:
        return None
