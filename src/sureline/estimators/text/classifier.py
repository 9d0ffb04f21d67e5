"""Raw text in, labels out: TextClassifier joins what reads texts with what learns rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from operator import attrgetter
from typing import Any, Self, cast

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from sureline.data import Given, as_labels, as_text
from sureline.declaration import option
from sureline.errors import DataError, InvalidParameter
from sureline.estimators.documentation import documented
from sureline.estimators.families import AROWClassifier
from sureline.estimators.file import Saving
from sureline.estimators.model_merge import Merging
from sureline.estimators.online import OnlineClassifier
from sureline.estimators.parallel.shards import Crew, count_jobs
from sureline.estimators.parallel.text_shards import TextShards
from sureline.estimators.prediction import Piece, Predicting
from sureline.estimators.text.explanation import explain_text, tell_features
from sureline.estimators.text.file import text_from_parts, text_parts
from sureline.estimators.text.knowledge import Knowledge
from sureline.estimators.text.merge import merge_texts
from sureline.estimators.text.options import OPTIONS, TextEstimator
from sureline.estimators.text.pipeline import Work, learn_in_pairs, learn_in_turn
from sureline.estimators.validation import check_whole
from sureline.features.rows import Rows
from sureline.features.tokenizer import PIECE, Found, Room, cut_texts
from sureline.features.vocabulary import KEPT_SHARE, Hashing, largest
from sureline.model import State
from sureline.model.explanation import Explanation, Telling
from sureline.model.learner import AGAIN, NEW, READ, Floats, Integers, Learner, Turn
from sureline.options import TextLearningOptions, TextOptions

TWO, ALL = np.arange(2), np.ones(1)
# Gives the parameters that what is learned depends on, besides those of the estimator.
USED: Callable[[Any], tuple[Any, ...]] = attrgetter(*OPTIONS, "calibration")
# Of the estimator; TextClassifier has its own.
UNUSED = ("max_iter", "shuffle", "random_state", "n_jobs", "calibration")


def default_estimator() -> OnlineClassifier:
    """What learns the weights where no estimator is given; chosen by experiment."""
    return AROWClassifier(r="auto", scheme="one-vs-rest")


@documented
class TextClassifier(TextOptions, TextLearningOptions, TextEstimator, Merging, Saving, Predicting):
    """Learn labels of texts, in one pass, and know how sure every prediction is.

    It reads raw strings, finds words and pairs of words in compiled code, gives each a column, and
    learns their weights online. New words and new labels may come at any time.

    Texts may be a list, a NumPy array, a pandas or Polars column, or anything that speaks Arrow.
    While one thread learns, others may predict.

    Examples
    --------
    >>> from sureline import TextClassifier
    >>> texts = ["win a free prize", "lunch at noon?", "free money now", "see you at lunch"]
    >>> model = TextClassifier(random_state=0).fit(texts, ["spam", "ham", "spam", "ham"])
    >>> model.predict(["free lunch money", "at noon"]).tolist()
    ['spam', 'ham']
    >>> model.learn_one("invoice attached", "bill").classes_.tolist()
    ['bill', 'ham', 'spam']
    """

    estimator: OnlineClassifier | None = option(
        None,
        "The online classifier that learns the weights, or None for the default. Its own "
        "`max_iter`, `shuffle`, `random_state`, `n_jobs` and `calibration` are not used: these "
        "here are.",
        positional=True,
    )

    # -- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch, in `max_iter` passes over the texts.

        Parameters
        ----------
        X : list, array or column of str
            The texts.
        y : array of shape (n_samples,)
            Their labels.
        sample_weight : array of shape (n_samples,), default=None
            How much each text counts; 0 leaves it out.

        Returns
        -------
        self
            The fitted classifier.
        """
        known = self._begin()
        texts, y, weight = self._examples(X, y, sample_weight, fresh=True)
        classes = np.unique(y)
        if classes.size < 2:
            raise DataError(
                "TextClassifier.fit needs texts of two classes; y holds "
                + (f"one class only, {classes.tolist()[0]!r}" if classes.size else "no label")
                + ". To learn from a stream that starts with one class, use partial_fit"
            )
        online, learner = known.online, known.learner
        weight = online._batch_weights(learner, classes, y, weight)
        rng = check_random_state(self.random_state)
        with self._gate.writing, Crew(count_jobs(self.n_jobs, "TextClassifier")) as crew:
            shards = TextShards(self, known, crew)
            pair = crew if crew.jobs == 2 else None
            if self.counts_first:
                self._learn(known, learner, texts, y, weight, classes, learning=False, crew=pair)
            for number in range(self.max_iter):
                order = rng.permutation(len(texts)) if self.shuffle else np.arange(len(texts))
                turn = AGAIN if number else READ if self.counts_first else NEW
                if crew.jobs > 2:
                    shards.learn_texts(texts, y, weight, classes, turn, order=order)
                    shards.gather()
                    continue
                ordered = texts, y, weight
                if self.shuffle:
                    ordered = texts.take(pa.array(order)), y[order], weight[order]
                self._learn(known, learner, *ordered, classes, turn, crew=pair)
            with self._gate.change():
                self._known = known
                self.n_iter_ = online.n_iter_ = self.max_iter
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn more texts, in the order given, on top of what is known.

        Parameters
        ----------
        X : list, array or column of str
            The texts.
        y : array of shape (n_samples,)
            Their labels; new ones may appear at any time.
        classes : array, default=None
            Labels to know beforehand. Without it a class exists from the first text that shows it;
            texts before the second class has come teach nothing but their words.
        sample_weight : array of shape (n_samples,), default=None
            How much each text counts; 0 leaves it out.

        Returns
        -------
        self
            The classifier, further trained.
        """
        texts, y, weight = self._examples(X, y, sample_weight, fresh=False)
        if count_jobs(self.n_jobs, "TextClassifier") > 1 and texts.nbytes > PIECE:
            with Crew(2) as crew:
                self._take_in(texts, y, weight, classes, crew=crew)
        else:
            self._take_in(texts, y, weight, classes)
        return self

    def learn_one(self, text: str, label: Any, weight: float = 1.0) -> Self:
        """Learn one text.

        Parameters
        ----------
        text : str
            The text.
        label : label
            Its label, which may be new.
        weight : float, default=1.0
            How much it counts.

        Returns
        -------
        self
            The classifier, further trained.
        """
        gate = self._gate
        with gate.writing:
            code = self._code(text, label, weight)
            if code is None:
                return self.partial_fit([text], as_labels([label]), sample_weight=[weight])
            known = self._known
            columns, online, learner = known.columns, known.online, known.learner
            single = known.scheme.read_one(text)
            found, state = single.found, online._state
            if columns.most_after(found.indptr.item(1)) >= state.features:
                state = online._state = state.with_features(
                    columns.reserve(found, 0) + 1, online.memory_limit_gb, "TextClassifier"
                )
            out = single.rows(learner.dtype)
            rank = known.classes.rank if state.wide else TWO
            weights = ALL if weight == 1.0 else np.array([weight])
            with gate.change():
                rows, learned = columns.enter(found, 0, self.normalize, learner.dtype, out)
                if not learned:  # for want of room
                    columns.reserve(found, 0)
                    rows, _ = columns.enter(found, 0, self.normalize, learner.dtype, out)
                learner.learn_one(state, rows, code, weights, rank)
            if columns.full:
                self._prune(known)
        return self

    def _code(self, text: Any, label: Any, weight: Any) -> Integers | None:
        """The column of a label, if there is nothing to check or to prepare for learning it."""
        known: Knowledge | None = self.__dict__.get("_known")
        if known is None or type(text) is not str or type(weight) is not float or weight <= 0.0:
            return None
        online = known.online
        if not online.__sklearn_is_fitted__() or known.columns.full:
            return None
        if online.class_weight is not None or (known.learner.rule.weight != "cost" and weight > 1):
            return None
        codes = known.classes.codes
        if len(codes) < 2 or self._options() != known.options:
            return None
        try:
            return codes.get(label)
        except TypeError:  # no label at all
            return None

    def forget_class(self, label: Any) -> Self:
        """Remove a class and all that was learned of it alone.

        Parameters
        ----------
        label : label
            One of ``classes_``; the last one cannot be forgotten.

        Returns
        -------
        self
            The classifier; with one class left, it always predicts that one.
        """
        check_is_fitted(self)
        self._known.online.forget_class(label)
        return self

    # -- predicting ----------------------------------------------------------------------------

    def predict(self, X: Any, min_confidence: float | None = None) -> NDArray[Any]:
        """The label of each text: the class of the highest mean score.

        Parameters
        ----------
        X : list, array or column of str
            The texts.
        min_confidence : float, default=None
            Abstain where the probability of the label is below this: the label is then None, and
            the array one of objects.

        Returns
        -------
        array of shape (n_samples,)
            The labels.
        """
        if min_confidence is None:
            return super().predict(X)
        if not 0.0 <= float(min_confidence) <= 1.0:
            raise InvalidParameter(
                "TextClassifier: min_confidence must be a probability, from 0 to 1, got "
                f"{min_confidence!r}"
            )
        probability = self.predict_proba(X)
        classes = self.classes_
        best = np.argmax(probability, axis=1)
        labels = classes[best].astype(object)
        labels[probability[np.arange(best.size), best] < min_confidence] = None
        return np.asarray(labels)

    def predict_one(self, text: str) -> Any:
        """The label of one text.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        label
            The class of the highest mean score.
        """
        if type(text) is not str or not self.__sklearn_is_fitted__():
            return self.predict([text]).tolist()[0]
        with self._gate.read():
            known = self._known
            single, classes = known.scheme.read_one(text), known.classes
            if len(classes.sorted) == 1:
                return classes.sorted[0]
            learner, state = known.learner, known.online._state
            rows = self._look_up(known, single.found, single.rows(learner.dtype))
            scores = learner.scores(state, rows)[0]
            best = scores[classes.order].argmax() if state.wide else scores.item() > 0.0
            return classes.sorted[best]

    def predict_proba_one(self, text: str) -> dict[Any, float]:
        """The probability of each class for one text.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        dict
            The probabilities, by label.
        """
        probability = self.predict_proba([text])[0]
        return dict(zip(self.classes_.tolist(), probability.tolist(), strict=True))

    # -- what was learned ----------------------------------------------------------------------

    def explain(self, text: str, top: int = 10) -> Explanation:
        """Why a text gets its label: what each of its features adds to each class's score.

        Parameters
        ----------
        text : str
            The text.
        top : int, default=10
            How many features to tell, for each class those that add or take away most.

        Returns
        -------
        Explanation
            With the label, its probability and, by class, the score and where it comes from.
            Printed, it is a table of the reasons for the label.
        """
        check_whole(top, "top", "TextClassifier")
        check_is_fitted(self)
        return explain_text(self, text, top)

    def top_features(self, label: Any, n: int = 10) -> list[Telling]:
        """The features that speak most surely for a class.

        Parameters
        ----------
        label : label
            One of ``classes_``.
        n : int, default=10
            How many.

        Returns
        -------
        list of Telling
            Name, weight and variance, in the order of weight less standard deviation: what the
            weight is at least, if it is off by its own uncertainty.
        """
        check_whole(n, "n", "TextClassifier")
        check_is_fitted(self)
        return tell_features(self, label, n)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns of ``coef_``.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        array of str
            Words with spaces between them, characters in angle quotes; with ``features="hash"``,
            the number of the column where no name is remembered.
        """
        check_is_fitted(self)
        with self._gate.read():
            columns = self._known.columns
            names = [columns.name(j) for j in range(columns.features)]
        return np.array(names, dtype=object)

    @property
    def coef_(self) -> NDArray[Any]:
        """The mean of every weight, of shape (1, n_features) or (n_classes, n_features)."""
        return super().coef_[:, : self._known.columns.features]

    @property
    def variance_(self) -> NDArray[Any]:
        """The variance of every weight, shaped as ``coef_``."""
        return super().variance_[:, : self._known.columns.features]

    @property
    def covariance_(self) -> NDArray[Any]:
        """The covariance of the weights, (1 or n_classes, n_features, n_features); `full` only."""
        count = self._known.columns.features if hasattr(self, "_known") else 0
        return super().covariance_[:, :count, :count]

    @property
    def n_features_(self) -> int:
        """How many features have a column."""
        self._fitted("n_features_")
        return self._known.columns.features

    # -- inside --------------------------------------------------------------------------------

    def _parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return text_parts(self)

    @classmethod
    def _from_parts(cls, metadata: Any, tensors: Any) -> Self:
        return cast(Self, text_from_parts(cls, metadata, tensors))

    def _merge(self, models: list[TextClassifier], how: Any) -> TextClassifier:
        return merge_texts(models, how)

    def _begin(self) -> Knowledge:
        """Nothing learned so far; all parameters are checked here."""
        scheme = self._scheme()
        count_jobs(self.n_jobs, "TextClassifier")
        online = self._chosen()
        online.__dict__["_own_gate"] = self._gate
        online._weighting = self._weighs(online)
        online.calibration = self.calibration if hasattr(online, "covariance") else None
        online._learner()
        if online.early_stopping:
            raise InvalidParameter(
                "TextClassifier: the estimator has early_stopping=True, but texts are learned as "
                "a stream; set it to False"
            )
        return Knowledge(scheme, self._columns(naming=True), online, self._options())

    def _options(self) -> tuple[Any, ...]:
        """The parameters that what is learned depends on, those of the estimator included."""
        options = USED(self)
        if self.estimator is None:
            return options
        kind: Any = type(self.estimator)
        return (*options, *_values_of(kind)(self.estimator))

    def _chosen(self) -> OnlineClassifier:
        """A fresh estimator."""
        if self.estimator is None:
            return default_estimator()
        if not isinstance(self.estimator, OnlineClassifier):
            raise InvalidParameter(
                "TextClassifier: estimator must be one of sureline's online classifiers or None, "
                f"got {self.estimator!r}; for others make a pipeline of TextFeatures and the "
                "classifier"
            )
        return cast(OnlineClassifier, clone(self.estimator))

    def _weighs(self, online: OnlineClassifier) -> tuple[str | None, bool]:
        """How counts weigh features, as far as the estimator allows it."""
        covariance = getattr(online, "covariance", None)
        able = covariance not in (None, "full")
        weighting: str | None = self.weighting
        if weighting == "auto":
            weighting = "nb" if able else "idf"
        if weighting == "nb" and not able:
            has = "no variances" if covariance is None else "a full covariance"
            raise InvalidParameter(
                f"TextClassifier: weighting='nb' tells the variance of every weight beforehand, "
                f"but {type(online).__name__} keeps {has}; choose weighting='idf' or None"
            )
        return weighting, bool(self.normalize)

    def _examples(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, fresh: bool
    ) -> tuple[pa.Array, NDArray[Any], Floats]:
        """Texts, labels and weights, as many of each."""
        texts, labels = as_text(X), as_labels(y)
        if labels.ndim != 1:
            raise DataError(
                f"TextClassifier: y must be one label a text, got an array of shape {labels.shape}"
            )
        if len(texts) != labels.size:
            raise DataError(
                f"TextClassifier: there are {len(texts):,} texts but {labels.size:,} labels"
            )
        if sample_weight is None:
            weight = np.ones(len(texts))
        else:
            weight = _check_sample_weight(
                sample_weight,
                np.empty((len(texts), 1)),
                dtype=np.float64,
                ensure_non_negative=True,
                allow_all_zero_weights=not fresh,
            )
        return texts, labels, weight

    def _take_in(
        self,
        texts: pa.Array,
        y: NDArray[Any],
        weight: Floats,
        classes: ArrayLike | None,
        given: Given | None = None,
        turn: Turn = NEW,
        learning: bool = True,
        crew: Crew | None = None,
    ) -> None:
        """Learn more texts on top of what is known, as they come."""
        with self._gate.writing:
            known, weight = self._ready(y, weight)
            self._learn(
                *(known, known.learner, texts, y, weight, classes, turn, given, learning, crew)
            )

    def _ready(self, y: NDArray[Any], weight: Floats) -> tuple[Knowledge, Floats]:
        """What is known, to be added to, and the weights of the texts that are to be learned."""
        first = not hasattr(self, "_known")
        known = self._begin() if first else self._known
        known.online.__dict__["_own_gate"] = self._gate  # a copy of a model has one of its own
        if self._options() != known.options:
            raise InvalidParameter(
                "TextClassifier: partial_fit cannot go on after set_params has changed how "
                "texts are read or learned; fit anew, or change it back"
            )
        known.online._check_stream()
        weight = known.online._stream_weights(known.learner, y, weight)
        if first:
            self._known, self.n_iter_ = known, 1
        return known, weight

    def _learn(
        self,
        known: Knowledge,
        learner: Learner,
        texts: pa.Array,
        y: NDArray[Any],
        weight: Floats,
        classes: ArrayLike | None,
        turn: Turn = NEW,
        given: Given | None = None,
        learning: bool = True,
        crew: Crew | None = None,
    ) -> None:
        """Learn texts in order, a piece at a time, or only count them; a `crew` helps.

        Of texts that have been read before no new feature gets a column, and none is counted.
        """
        columns, online = known.columns, known.online
        normalize = bool(self.normalize)
        many = len(classes) if classes is not None else 2  # type: ignore[arg-type]
        limit = int(PIECE / (1.0 + many / 16.0))

        def read(piece: slice, room: Room | None) -> Found:
            return known.scheme.read_piece(texts, given, piece, room)

        def reserve(found: Found, begin: int) -> int:
            return columns.features if turn.read else columns.reserve(found, begin)

        def holds(room: int) -> bool:
            return turn.read or (online.__sklearn_is_fitted__() and room < online._state.features)

        def grow(room: int) -> None:
            if not turn.read and online.__sklearn_is_fitted__():
                online._state = online._state.with_features(
                    room + 1, online.memory_limit_gb, "TextClassifier"
                )

        def enter(found: Found, begin: int) -> tuple[Rows, int]:
            if turn.read:
                return columns.look_up(found, normalize, learner.dtype, -1), len(found)
            return columns.enter(found, begin, normalize, learner.dtype)

        def learn(rows: Rows, part: slice, room: int) -> None:
            online._learn_rows(
                *(learner, rows, y[part], weight[part], classes, room + 1),
                *(turn, learning),
            )

        work = Work(
            *(read, reserve, holds, grow, enter, learn),
            full=lambda: columns.full,
            prune=lambda: self._prune(known),
        )
        pieces = list(cut_texts(texts, limit))
        if crew is None:
            learn_in_turn(work, pieces, online._gate)
        else:
            learn_in_pairs(work, pieces, online._gate, crew)

    def _prune(self, known: Knowledge) -> None:
        """Forget the least certain features, or the names of the lightest."""
        online, columns = known.online, known.columns
        state = online._state
        if isinstance(columns, Hashing):
            named = columns.named_columns()
            weights = np.abs(known.learner.weights(state, named + 1)).max(axis=1)
            held: Any = columns.forgetful(weights)
            with online._gate.change():
                columns.held = held
            return
        count = columns.features
        if online._has_variance and not state.covariance.size:
            sure = -state.table[1 : count + 1, 1, : state.used].min(axis=1)
        else:
            sure = np.abs(known.learner.weights(state)[1 : count + 1]).max(axis=1)
        kept = largest(sure, int(KEPT_SHARE * count))
        held, state = columns.pruned(kept), state.with_rows(kept)
        with online._gate.change():
            columns.held, online._state = held, state

    def _pieces(self, X: Any) -> list[Piece]:
        texts = as_text(X)
        cuts = list(cut_texts(texts, PIECE // 2)) or [slice(0, 0)]
        return [partial(self._read_piece, self._known, texts, cut) for cut in cuts]

    def _read_piece(self, known: Knowledge, texts: Any, cut: slice) -> Callable[[], Rows]:
        """Find the features of some texts; what is returned looks up their columns."""
        return partial(self._look_up, known, known.scheme.read_piece(texts, None, cut))

    def _look_up(self, known: Knowledge, found: Found, out: Rows | None = None) -> Rows:
        """Rows of what was found in texts, as learning would see them."""
        columns, dtype = known.columns, known.online.dtype
        return columns.look_up(found, bool(self.normalize), dtype, columns.unknown, out)

    @property
    def _has_variance(self) -> bool:
        known: Knowledge | None = self.__dict__.get("_known")
        return hasattr(known.online if known else self._chosen(), "covariance")

    @property
    def _state(self) -> State:  # type: ignore[override]
        return self._known.online._state

    @property
    def _labels(self) -> NDArray[Any]:  # type: ignore[override]
        return self._known.online._labels

    @property
    def classes_(self) -> NDArray[Any]:  # type: ignore[override]
        """The labels, sorted."""
        self._fitted("classes_")
        return self._known.online.classes_

    def _learner(self) -> Learner:
        return self._known.learner

    def __sklearn_is_fitted__(self) -> bool:
        """Whether anything has been learned."""
        return hasattr(self, "_known") and self._known.online.__sklearn_is_fitted__()

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may assume."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


@cache
def _values_of(kind: Any) -> Callable[[OnlineClassifier], tuple[Any, ...]]:
    """What gives the parameters of an estimator that are used here."""
    return attrgetter(*(name for name in kind.__dataclass_fields__ if name not in UNUSED))
