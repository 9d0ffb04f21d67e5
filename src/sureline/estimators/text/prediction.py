"""Predictions and explanations of a fitted classifier of texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sureline.data.label_sets import in_form
from sureline.data.table import TEXT
from sureline.declaration import declared
from sureline.errors import InvalidParameter, show
from sureline.estimators.prediction import Chunk, PredictionMixin, with_variance
from sureline.estimators.text.label_sets import subset_accuracy
from sureline.estimators.validation import check_whole
from sureline.features.rows import Rows
from sureline.features.table_tokenizer import TableTokenizer
from sureline.features.tokenizer import CHUNK_BYTES, chunk_texts
from sureline.model.explanation import Explanation, FeatureWeight
from sureline.model.label_sets import LabelSetModel, best_labels
from sureline.model.learner import Floats
from sureline.model.linear import LinearModel
from sureline.model.predictions import Prediction, Predictions, join_predictions
from sureline.model.text import TextModel
from sureline.options import TextLearningOptions

Row = str | Mapping[str, Any]


class TextPredictionMixin(PredictionMixin):
    """Predictions from the fitted ``model_`` of texts; `TextClassifier` learns it."""

    model_: TextModel
    threshold: Any
    as_input: Callable[[Any], Any]

    # -- predicting ----------------------------------------------------------------------------

    def predict(
        self, X: Any, min_confidence: float | None = None, top: int | None = None
    ) -> NDArray[Any]:
        """The label of each text: the class of the highest mean score; or its labels.

        Where texts have several labels, those whose probability reaches the `threshold`.

        Parameters
        ----------
        X : list, array or column of str, or table
            The texts, or rows of several columns.
        min_confidence : float, default=None
            Abstain where the probability of the label is below this: the label is then None, and
            the array one of objects. Of several labels, where that of exactly these labels is.
        top : int, default=None
            Where texts have several labels: give each text its so many most probable ones.

        Returns
        -------
        array of shape (n_samples,)
            The labels. Where texts have several: tuples of them, or a matrix of 0 and 1, sparse or
            dense, as in training.
        """
        if self.is_multilabel:
            sets: NDArray[Any] = self._predict_label_sets(X, min_confidence, top)
            return sets
        if top is not None:
            raise InvalidParameter(
                "TextClassifier: top is for texts with several labels, and the model learned one "
                "per text; predict_ranking(X, k) has the k best classes"
            )
        if min_confidence is None:
            return super().predict(X)
        least = self._probability(min_confidence)
        _, found = self.predictions(X)
        labels = found.label.astype(object)
        labels[cast(Floats, found.probability) < least] = None
        return np.asarray(labels)

    def predictions(self, X: Any) -> tuple[NDArray[Any], Predictions]:
        """All that is predicted of each text, by one walk over them.

        Parameters
        ----------
        X : list, array or column of str, or table
            The texts, or rows of several columns.

        Returns
        -------
        classes : array
            The labels that the columns of the probabilities belong to.
        predictions : Predictions
            A named tuple of arrays: `label`, `probability`, `margin`, `variance`, `probabilities`
            and `novelty`, as `predict_one` describes them.
        """
        classes, parts = self._predicted(X, _predictions)
        return classes, join_predictions(parts)

    def predict_one(
        self, text: Row, min_confidence: float | None = None, details: bool = False
    ) -> Any:
        """The label of one text.

        Parameters
        ----------
        text : str or dict
            The text, or a row of several columns.
        min_confidence : float, default=None
            Abstain if the probability of the label is below this: the label is then None.
        details : bool, default=False
            Whether to return more than the label.

        Returns
        -------
        label, tuple of labels or Prediction
            The class of the highest mean score, or where texts have several labels, a tuple of
            those whose probability reaches the `threshold`. With `details`, a named tuple of
            `label`, `probability`, `margin`, `variance`, `probabilities` by label and `novelty`:
            the share of training texts that were less unlike what the model knew when they came.
            Above 0.99, a text is more unusual than all but one in a hundred of them. Of several
            labels, `probability` is that of exactly these; `margin` and `variance` are those of the
            most probable label's score.
        """
        if details:
            return self._predict_details(text, min_confidence)
        if self.is_multilabel:
            return self._predict_details(text, min_confidence).label
        if min_confidence is not None:
            return self.predict([text], min_confidence).tolist()[0]
        if type(text) is not self._row_type or not self.__sklearn_is_fitted__():
            return self.predict([text]).tolist()[0]
        return self.model_.predict_one(text)

    def _predict_details(self, text: Row, min_confidence: float | None) -> Prediction:
        """All that is predicted of one text."""
        least = 0.0 if min_confidence is None else self._probability(min_confidence)
        classes, predictions = self.predictions([text])
        first: list[Any] = [None if each is None else each.tolist()[0] for each in predictions]
        found = Prediction(*first)
        if found.probability is None:
            return found
        by_label = dict(zip(classes.tolist(), first[4], strict=True))
        label = found.label if found.probability >= least else None
        return found._replace(label=label, probabilities=by_label)

    @with_variance
    def predict_proba_one(self, text: Row) -> dict[Any, float]:
        """The probability of each class for one text.

        Parameters
        ----------
        text : str or dict
            The text, or a row of several columns.

        Returns
        -------
        dict
            The probabilities, by label.
        """
        classes, parts = self._predicted([text], _predict_proba)
        return dict(zip(classes.tolist(), parts[0][0].tolist(), strict=True))

    # -- what was learned ----------------------------------------------------------------------

    def explain(self, text: Row, top: int = 10) -> Explanation:
        """Why a text gets its label: what each of its features adds to each class's score.

        Parameters
        ----------
        text : str or dict
            The text, or a row of several columns.
        top : int, default=10
            How many features to list, for each class those that add or subtract most.

        Returns
        -------
        Explanation
            With the label, its probability and, by class, the score and where it comes from.
            Printed, it is a table of the contributions to the label's score.
        """
        check_whole(top, "top", "TextClassifier")
        check_is_fitted(self)
        row = text
        if isinstance(text, Mapping) and not isinstance(self.model_.tokenizer, TableTokenizer):
            row = self.as_input([text])[0].as_py()  # of the only column
        if isinstance(self.model_, LabelSetModel):
            self.model_.threshold = self._checked_threshold()
        return self.model_.explain(row, top)

    def top_features(self, label: Any, n: int = 10) -> list[FeatureWeight]:
        """The features that most certainly indicate a class.

        Parameters
        ----------
        label : label
            One of ``classes_``.
        n : int, default=10
            How many.

        Returns
        -------
        list of FeatureWeight
            Name, weight and variance, ranked by weight less standard deviation.
        """
        check_whole(n, "n", "TextClassifier")
        check_is_fitted(self)
        return self.model_.top_features(label, n)

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
        model = self.model_
        model.check_names()
        with model.lock.read():
            names = [model.name(j) for j in range(model.n_features)]
        return np.array(names, dtype=object)

    @property
    def n_features_(self) -> int:
        """How many features have a column."""
        return self._fitted("n_features_").n_features

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of texts that are classified right.

        Parameters
        ----------
        X : list, array or column of str, or table
            The texts, or rows of several columns.
        y : array of shape (n_samples,), list of collections, or matrix
            Their labels, as for `fit`.
        sample_weight : array of shape (n_samples,), default=None
            How much each text counts.

        Returns
        -------
        float
            The accuracy; where texts have several labels, all of them must be right.
        """
        if not self.is_multilabel:
            base: Any = super()
            return float(base.score(X, y, sample_weight))
        chosen = np.concatenate(self._predicted(X, _chosen)[1])
        return subset_accuracy(cast(LabelSetModel, self.model_), y, chosen, sample_weight)

    @property
    def is_multilabel(self) -> bool:
        """Whether the fitted model learned any number of labels per text."""
        return self.__sklearn_is_fitted__() and self.model_.learner.multilabel

    # -- inside --------------------------------------------------------------------------------

    @property
    def _row_type(self) -> type:
        """What one row is: a text, or a dictionary of several columns."""
        columns = self.__dict__.get("columns_")
        return dict if columns is not None and list(columns.values()) != [TEXT] else str

    def _predict_label_sets(self, X: Any, min_confidence: float | None, top: int | None) -> Any:
        """The sets of labels of texts, in the form in which labels were learned."""
        least = 0.0 if min_confidence is None else self._probability(min_confidence)
        if top is not None:
            check_whole(top, "top", "TextClassifier")
        classes, parts = self._predicted(X, _predict_proba)
        chances, model = np.concatenate(parts), cast(LabelSetModel, self.model_)
        chosen = model.chosen(chances) if top is None else best_labels(chances, top)
        labels = in_form(chosen, classes, model.form)
        if least > 0.0:
            if model.form != "sets":
                raise InvalidParameter(
                    "TextClassifier: min_confidence gives None for some texts, which a matrix of "
                    "labels cannot hold; learn lists of labels, or compare predict_proba"
                )
            exact = np.where(chosen, chances, 1.0 - chances).prod(axis=1)
            labels[exact < least] = None
        return labels

    def _probability(self, min_confidence: float) -> float:
        """The parameter `min_confidence`, if it is a probability and the model predicts any."""
        check_is_fitted(self)
        if not 0.0 <= float(min_confidence) <= 1.0:
            raise InvalidParameter(
                "TextClassifier: min_confidence must be a probability, from 0 to 1, got "
                f"{show(min_confidence)}"
            )
        if not self.model_.has_variance:
            raise InvalidParameter(
                f"TextClassifier: min_confidence needs probabilities, but the rule "
                f"{self.model_.learner.rule.name} keeps no variances; choose another estimator"
            )
        return float(min_confidence)

    def _chunks(self, model: Any, X: Any) -> list[Chunk]:
        if model.learner.multilabel:
            model.threshold = self._checked_threshold()
        texts = self.as_input(X)
        cuts = list(chunk_texts(texts, CHUNK_BYTES // 2)) or [slice(0, 0)]
        return [partial(_read_chunk, model, texts, cut) for cut in cuts]

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may assume."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags

    def _checked_threshold(self) -> Any:
        """The parameter `threshold`, which may change between predictions."""
        threshold = self.threshold
        declared(TextLearningOptions)["threshold"].check(threshold, "TextClassifier: threshold")
        return threshold


def _predictions(model: LinearModel, rows: Rows) -> Any:
    return model.predictions(rows)


def _predict_proba(model: LinearModel, rows: Rows) -> Floats:
    return model.predict_proba(rows)


def _chosen(model: Any, rows: Rows) -> NDArray[np.bool_]:
    """Which texts get which labels."""
    return np.asarray(model.chosen(model.predict_proba(rows)))


def _read_chunk(model: TextModel, texts: pa.Array, cut: slice) -> Callable[[], Rows]:
    """Read some texts; the result looks up the columns of their features."""
    return partial(model.rows, model.tokenizer.read_chunk(texts, None, cut))
