"""TextClassifier: raw strings in, labels out."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, Self, cast

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from sureline.data import as_labels
from sureline.data.label_sets import LabelSets, are_label_sets, as_label_sets
from sureline.declaration import option
from sureline.errors import DataError, InvalidParameter, show
from sureline.estimators.documentation import documented
from sureline.estimators.families import AROWClassifier
from sureline.estimators.input_rows import validate_weights
from sureline.estimators.online import OnlineClassifier
from sureline.estimators.parallel.text_shards import TextShards
from sureline.estimators.parallel.thread_pool import ThreadPool, count_threads
from sureline.estimators.text.file import TextFileMixin
from sureline.estimators.text.label_sets import (
    begin_labels,
    check_label_kind,
    known_labels,
    named_columns,
)
from sureline.estimators.text.merge import TextMergeMixin
from sureline.estimators.text.options import OPTIONS, TextEstimator
from sureline.estimators.text.passes import (
    AUTO,
    MANY,
    Choice,
    LabelledTexts,
    choose_passes,
    sample_rows,
)
from sureline.estimators.text.pipeline import TextPipeline
from sureline.estimators.text.prediction import Row, TextPredictionMixin
from sureline.estimators.validation import (
    check_order,
    check_stream_parameters,
    choose_learner,
    fit_weights,
    stream_weights,
    warn_of_ids,
)
from sureline.features.tokenizer import CHUNK_BYTES
from sureline.model.drift import watch
from sureline.model.label_sets import LabelSetModel
from sureline.model.learner import AGAIN, COUNT_ONLY, COUNTED, NEW, Floats
from sureline.model.text import TextModel
from sureline.options import TextLearningOptions, TextOptions

# The parameters that what is learned depends on, besides those of the estimator.
FIXED: Callable[[Any], tuple[Any, ...]] = attrgetter(*OPTIONS, "calibration", "class_storage")
# Parameters of the estimator that TextClassifier has itself.
REPLACED = (
    "max_iter",
    "shuffle",
    "random_state",
    "n_jobs",
    "calibration",
    "drift",
    "class_storage",
)


def default_estimator() -> OnlineClassifier:
    """What learns the weights where no estimator is given; chosen by experiment."""
    return AROWClassifier(r="auto", scheme="one-vs-rest")


@documented
class TextClassifier(
    TextOptions,
    TextLearningOptions,
    TextEstimator,
    TextMergeMixin,
    TextFileMixin,
    TextPredictionMixin,
):
    """Learn labels of texts, in one pass, and know how sure every prediction is.

    It reads raw strings, finds words and pairs of words in compiled code, gives each a column, and
    learns their weights online. New words and new labels may come at any time.

    Texts may be a list, a NumPy array, a pandas or Polars column, or anything with an Arrow
    interface; or a table of several columns, whose kinds are `columns`. While one thread learns,
    others may predict.

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
        "The online classifier that learns the weights. None is "
        "``AROWClassifier(r='auto', scheme='one-vs-rest')``; an estimator that is given has its "
        "own defaults, such as r=1 and scheme='sequential'. Its `max_iter`, `shuffle`, "
        "`random_state`, `n_jobs`, `calibration`, `drift` and `class_storage` are not used: these "
        "here are.",
        positional=True,
    )

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the estimator as ``estimator__r`` and so on.

        Parameters
        ----------
        **params : dict
            The parameters. If one of the estimator is set while `estimator` is None, a copy of the
            default estimator takes its place.

        Returns
        -------
        self
            The classifier.
        """
        nested = any(name.startswith("estimator__") for name in params)
        if nested and params.get("estimator", self.estimator) is None:
            params = {**params, "estimator": default_estimator()}
        return cast(Self, super().set_params(**params))  # type: ignore[no-untyped-call]

    # -- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch, in `max_iter` passes over the texts.

        Parameters
        ----------
        X : list, array or column of str, or table
            The texts, or rows of several columns.
        y : array of shape (n_samples,), list of collections, or matrix
            Their labels. Where a text may have several, lists, tuples or sets of them, empty ones
            included, or a dense or sparse matrix of 0 and 1, whose column numbers are the labels.
        sample_weight : array of shape (n_samples,), default=None
            How much each text counts; 0 leaves it out.

        Returns
        -------
        self
            The fitted classifier.
        """
        self.columns_ = self.columns_of(X)
        estimator, model = self.begin(are_label_sets(y))
        texts, y, weight = self._examples(X, y, sample_weight)
        several = isinstance(y, LabelSets)
        classes = known_labels(y, None) if several else np.unique(y)
        if several:
            begin_labels(model, y)
        if classes.size < 2 - several:
            wanted = "a label" if several else "two classes"
            raise DataError(
                f"TextClassifier.fit needs texts of {wanted}; y holds "
                + (f"one class only, {classes.tolist()[0]!r}" if classes.size else "no label")
                + ". To learn from a stream that starts with one class, use partial_fit"
            )
        if several:
            weight = stream_weights(estimator, model.learner.rule, classes, weight)
        else:
            weight = fit_weights(estimator, model.learner.rule, classes, y, weight)
            warn_of_ids(classes, len(texts), "TextClassifier")
        rng = check_random_state(self.random_state)
        with (
            self._lock.learning,
            ThreadPool(count_threads(self.n_jobs, "TextClassifier")) as pool,
        ):
            shards = TextShards(model, pool)
            pair = pool if pool.threads == 2 else None
            choice = self._choose_passes(LabelledTexts(texts, y, weight), rng, pair)
            if self.counts_first:
                TextPipeline(model, texts, y, weight, classes, COUNT_ONLY).run(pair)
            in_order = not self.shuffle and choice.passes == 1 and pool.threads <= 2
            check_order(model.learner, in_order and not self.counts_first, "TextClassifier")
            for number in range(choice.passes):
                order = rng.permutation(len(texts)) if self.shuffle else np.arange(len(texts))
                turn = AGAIN if number else COUNTED if self.counts_first else NEW
                turn = turn._replace(ordered=in_order)
                if pool.threads > 2:
                    shards.learn_texts(texts, y, weight, classes, turn, order=order)
                    shards.merge()
                else:
                    ordered = texts, y, weight
                    if self.shuffle:
                        ordered = texts.take(pa.array(order)), y[order], weight[order]
                    TextPipeline(model, *ordered, classes, turn).run(pair)
                if choice.passes > 1:
                    model.end_pass(again=number > 0)
            choice.finish(model)
            self.adopt(estimator, model, choice.passes)
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
        X : list, array or column of str, or table
            The texts, or rows of several columns.
        y : array of shape (n_samples,), list of collections, or matrix
            Their labels, as for `fit`; new ones may appear at any time.
        classes : array, default=None
            Labels to know beforehand, or the sorted labels of the columns of a matrix. Without it a
            class exists from the first text that shows it; from texts before the second class
            arrives, only words are learned.
        sample_weight : array of shape (n_samples,), default=None
            How much each text counts; 0 leaves it out.

        Returns
        -------
        self
            The classifier, further trained.
        """
        if "model_" not in self.__dict__:
            self.columns_ = self.columns_of(X)
        texts, y, weight = self._examples(X, y, sample_weight, allow_zero=True)
        if isinstance(y, LabelSets):
            y, classes = named_columns(y, classes)
        with self._lock.learning:
            model, weight = self.model_for(y, weight)
            pipeline = TextPipeline(model, texts, y, weight, classes)
            threads = count_threads(self.n_jobs, "TextClassifier")
            if threads > 1 and texts.nbytes > CHUNK_BYTES:
                with ThreadPool(2) as pool:
                    pipeline.run(pool)
            else:
                pipeline.run()
        return self

    def learn_one(self, text: Row, label: Any, weight: float = 1.0) -> Self:
        """Learn one text.

        Parameters
        ----------
        text : str or dict
            The text, or a row of several columns.
        label : label, or list, tuple or set of labels
            Its label, or its labels, which may be new.
        weight : float, default=1.0
            How much it counts.

        Returns
        -------
        self
            The classifier, further trained.
        """
        with self._lock.learning:
            code = self._code(text, label, weight)
            if code is None:
                y = [label] if are_label_sets([label]) else as_labels([label])
                return self.partial_fit([text], y, sample_weight=[weight])
            self.model_.learn_one(text, code, weight)
        return self

    def _code(self, text: Any, label: Any, weight: Any) -> NDArray[np.int64] | None:
        """The column of a label, if there is nothing to check or to prepare for learning it."""
        model: TextModel | None = self.__dict__.get("model_")
        if model is None or type(text) is not self._row_type or type(weight) is not float:
            return None
        if not 0.0 < weight < math.inf or not model.fitted or model.columns.full:
            return None
        if self.estimator_.class_weight is not None or model.learner.compact:
            return None
        if model.learner.multilabel:
            return None
        if model.learner.rule.weight != "cost" and weight > 1:
            return None
        codes = model.class_index.codes
        if len(codes) < 2 or self._options() != self.fitted_options:
            return None
        if self.drift is not self.fitted_drift:
            return None
        try:
            return codes.get(label)
        except TypeError:  # not a label
            return None

    @property
    def has_variance(self) -> bool:
        """Whether the rule keeps a variance for every weight."""
        return hasattr(self.__dict__.get("estimator_") or self.chosen_estimator(), "covariance")

    # -- for the classes around it ---------------------------------------------------------------

    def chosen_estimator(self) -> OnlineClassifier:
        """A new estimator: a copy of the one given, or the default."""
        if self.estimator is None:
            return default_estimator()
        if not isinstance(self.estimator, OnlineClassifier):
            raise InvalidParameter(
                "TextClassifier: estimator must be one of sureline's online classifiers or None, "
                f"got {show(self.estimator)}; for others make a pipeline of TextFeatures and the "
                "classifier"
            )
        return cast(OnlineClassifier, clone(self.estimator))

    def begin(self, multilabel: bool = False) -> tuple[OnlineClassifier, TextModel]:
        """The estimator and a model that has learned nothing; all parameters are checked here.

        A `multilabel` one learns any number of labels per text.
        """
        tokenizer = self.tokenizer()
        count_threads(self.n_jobs, "TextClassifier")
        estimator = self.chosen_estimator()
        weighting = self.resolved_weighting(estimator)
        estimator.calibration = self.calibration if hasattr(estimator, "covariance") else None
        estimator.drift, estimator.class_storage = self.drift, self.class_storage
        normalize = bool(self.normalize)
        learner = choose_learner(estimator, weighting, normalize, multilabel=multilabel)
        if estimator.early_stopping:
            raise InvalidParameter(
                "TextClassifier: the estimator has early_stopping=True, but texts are learned as "
                "a stream; set it to False"
            )
        columns, limit = self.empty_columns(naming=True), estimator.memory_limit_gb
        kind = LabelSetModel if multilabel else TextModel
        model = kind(learner, tokenizer, columns, normalize, limit)
        model.lock = self._lock
        watch(model, self.drift)
        return estimator, model

    def resolved_weighting(self, estimator: OnlineClassifier) -> str | None:
        """How counts weigh features: the parameter, or what 'auto' means for the estimator."""
        covariance = getattr(estimator, "covariance", None)
        able = covariance not in (None, "full")
        weighting: str | None = self.weighting
        if weighting == "auto":
            weighting = "nb" if able else "idf"
        if weighting == "nb" and not able:
            has = "no variances" if covariance is None else "a full covariance"
            raise InvalidParameter(
                f"TextClassifier: weighting='nb' sets the prior variance of every weight, but "
                f"{type(estimator).__name__} keeps {has}; choose weighting='idf' or None"
            )
        return weighting

    def model_for(self, y: Any, weight: Floats) -> tuple[TextModel, Floats]:
        """The model that `partial_fit` continues or begins, and the weights of its texts."""
        first = "model_" not in self.__dict__
        several = isinstance(y, LabelSets)
        estimator, model = self.begin(several) if first else (self.estimator_, self.model_)
        check_label_kind(model, y)
        if several and not model.fitted:
            begin_labels(model, y)
        model.learner.check_learns("TextClassifier")
        if not first and self._options() != self.fitted_options:
            raise InvalidParameter(
                "TextClassifier: partial_fit cannot continue after set_params has changed how "
                "texts are read or learned; fit again, or change it back"
            )
        check_stream_parameters(estimator)
        weight = stream_weights(estimator, model.learner.rule, y, weight)
        if first or self.drift is not self.fitted_drift:
            self.adopt(estimator, model, 1 if first else self.n_iter_)
        return model, weight

    def adopt(self, estimator: OnlineClassifier, model: TextModel, n_iter: int) -> None:
        """Make a model the fitted one, with the estimator that describes how it learns."""
        if "columns_" not in self.__dict__:
            self.columns_ = self.columns_of(None)
        model.lock = self._lock
        watch(model, None if model.learner.compact else self.drift)
        self.estimator_, self.model_, self.n_iter_ = estimator, model, n_iter
        self.fitted_options, self.fitted_drift = self._options(), self.drift

    # -- inside --------------------------------------------------------------------------------

    def _options(self) -> tuple[Any, ...]:
        """The parameters that what is learned depends on, those of the estimator included."""
        options = FIXED(self)
        if self.estimator is None:
            return options
        kind: Any = type(self.estimator)
        return (*options, *_values_of(kind)(self.estimator))

    def _choose_passes(
        self, texts: LabelledTexts, rng: np.random.RandomState, pool: ThreadPool | None
    ) -> Choice:
        """How many passes `fit` makes over texts."""
        count = len(texts.text)
        if self.max_iter != AUTO:
            return Choice(int(self.max_iter), [])
        if not self.shuffle or count >= MANY:
            return Choice(1, [])
        return choose_passes(self, texts.take(sample_rows(count, rng)), count, rng, pool)

    def _examples(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, allow_zero: bool = False
    ) -> tuple[pa.Array, Any, Floats]:
        """Texts, labels and weights, as many of each."""
        texts = self.as_input(X)
        labels = as_label_sets(y) if are_label_sets(y) else as_labels(y)
        if len(labels.shape) != 1:
            raise DataError(
                "TextClassifier: y must be one label per text, got an array of shape "
                f"{labels.shape}"
            )
        if len(texts) != labels.size:
            raise DataError(
                f"TextClassifier: there are {len(texts):,} texts but {labels.size:,} labels"
            )
        return texts, labels, validate_weights(sample_weight, len(texts), allow_zero)


@cache
def _values_of(kind: Any) -> Callable[[OnlineClassifier], tuple[Any, ...]]:
    """A getter for the parameters of an estimator that TextClassifier does not replace."""
    return attrgetter(*(name for name in kind.__dataclass_fields__ if name not in REPLACED))
