"""TextFeatures: texts to sparse matrices, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self, cast

import numpy as np
import pyarrow as pa
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sureline.data import NamedFeatures, as_labels, as_text
from sureline.errors import DataError, InvalidParameter
from sureline.estimators.documentation import documented
from sureline.estimators.model_merge import MergeMixin
from sureline.estimators.text.class_counts import ClassCounts
from sureline.estimators.text.file import VectorizerFileMixin
from sureline.estimators.text.merge import check_equal
from sureline.estimators.text.options import TextEstimator
from sureline.features.hashing import Hashing
from sureline.features.merge import merge_hashings, merge_vocabularies
from sureline.features.rows import Rows
from sureline.features.vocabulary import KEPT_SHARE, Vocabulary, largest
from sureline.options import TextFeaturesOptions


@documented
class TextFeatures(
    TextFeaturesOptions,
    TextEstimator,
    MergeMixin,
    VectorizerFileMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Words, their neighbours and characters of texts as the columns of a sparse matrix.

    It does in compiled code what scikit-learn's CountVectorizer and HashingVectorizer do, and can
    take their place in a pipeline. With ``features="vocabulary"`` it can go on learning words with
    `partial_fit`; words that have no column are left out by `transform`. At `max_features`, the
    features that the fewest texts have had are forgotten.

    With a `weighting`, `fit` and `partial_fit` count texts and `transform` weights by all that has
    been counted so far: a text that is transformed later may get other values than before.
    ``"idf"`` is what scikit-learn's TfidfTransformer does. ``"nb"`` needs `y`, of two classes: it
    scales each feature by log [(π + p) / (1 − π + q)] − log [π / (1 − π)], with p texts of the
    second class (in the order of ``classes_``) and q of the first that have had the feature, and π
    the second's share of all features of all texts. Values are above 0 where a feature indicates
    the second class.

    Examples
    --------
    >>> from sureline import TextFeatures
    >>> features = TextFeatures(ngrams=(1, 2), normalize=False).fit(["free prize", "free time"])
    >>> features.get_feature_names_out()
    array(['free', 'free prize', 'prize', 'free time', 'time'], dtype=object)
    >>> features.transform(["a prize, a free prize"]).toarray()
    array([[1., 1., 1., 0., 0.]], dtype=float32)
    >>> weighed = TextFeatures(weighting="idf", ngrams=(1, 1), normalize=False)
    >>> weighed.fit(["free prize", "free time"]).transform(["free time"]).toarray().round(2)
    array([[1.  , 0.  , 1.41]], dtype=float32)
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which features there are and, with a weighting, count the texts that have them.

        Parameters
        ----------
        X : list, array or column of str
            The texts.
        y : array of shape (n_samples,), default=None
            For ``weighting="nb"`` their labels, of two classes; otherwise ignored.

        Returns
        -------
        self
            The fitted transformer.
        """
        self.begin()
        self.count(X, y)
        if self.weighting == "nb":
            self.class_counts_.check_two()
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn more features and count more texts, on top of what is known.

        Parameters
        ----------
        X : list, array or column of str
            The texts.
        y : array of shape (n_samples,), default=None
            For ``weighting="nb"`` their labels; otherwise ignored.

        Returns
        -------
        self
            The transformer. How texts are split between calls makes no difference.
        """
        if not self.__sklearn_is_fitted__():
            self.begin()
        elif self.tokenizer() != self.tokenizer_ or self.weighting != self.class_counts_.weighting:
            raise InvalidParameter(
                "TextFeatures: partial_fit cannot continue after set_params has changed how texts "
                "are read or weighted; fit again, or change it back"
            )
        self.count(X, y)
        return self

    def transform(self, X: Any) -> scipy.sparse.csr_matrix:
        """The features of texts, weighted by what has been counted so far.

        Parameters
        ----------
        X : list, array or column of str
            The texts.

        Returns
        -------
        sparse matrix of shape (n_samples, n_features)
            One row per text.
        """
        return self.matrix(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        array of str
            Words with spaces between them; characters in angle quotes; with ``features="hash"``
            the numbers of the columns.
        """
        check_is_fitted(self)
        names = [self.columns_.name(j) for j in range(self.columns_.features)]
        return np.array(names, dtype=object)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels of the texts that were counted, sorted; for ``weighting="nb"`` only."""
        if not self.__sklearn_is_fitted__() or self.class_counts_.weighting != "nb":
            raise AttributeError('TextFeatures has classes_ when fitted with weighting="nb" only')
        return self.class_counts_.labels

    # -- inside --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Forget all texts; all parameters are checked here."""
        self.tokenizer_ = self.tokenizer()
        self.columns_ = self.empty_columns(naming=False)
        self.class_counts_ = ClassCounts(self.weighting, self.dtype)

    def count(
        self, X: Any, y: Any = None, named: NamedFeatures | None = None, counting: bool = True
    ) -> None:
        """Give columns to the features of texts and, with ``counting``, count the texts."""
        texts, columns, counts = as_text(X), self.columns_, self.class_counts_
        counting = counting and counts.weighting is not None
        codes = counts.codes_of(_labels(y, texts), len(texts)) if counting else None
        if codes is None and isinstance(columns, Hashing):
            return
        for chunk, tokens in self.tokenizer_.chunks(texts, named):
            begin = 0
            while begin < len(tokens):
                columns.reserve(tokens, begin)
                rows, stop = columns.enter(tokens, begin, False, self.dtype)
                if codes is not None:
                    some = codes[chunk.start + begin : chunk.start + stop]
                    counts.count(rows, some, columns.features)
                begin = stop
                if columns.full:
                    self._prune(columns)

    def _prune(self, columns: Vocabulary | Hashing) -> None:
        """Forget the features that the fewest texts have had."""
        if isinstance(columns, Vocabulary):
            seen = columns.arrays.seen[: columns.features]
            kept = largest(seen, int(KEPT_SHARE * columns.features))
            columns.arrays = columns.pruned(kept)
            self.class_counts_.keep(kept)

    def matrix(self, X: Any, named: NamedFeatures | None = None) -> scipy.sparse.csr_matrix:
        """The features of texts, and the named ones."""
        check_is_fitted(self)
        parts = list(self._rows(as_text(X), named))
        counts = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.indptr) for part in parts)])
        data = np.concatenate([np.zeros(0, self.dtype), *(part.data for part in parts)])
        indices = np.concatenate([np.zeros(0, np.int32), *(part.indices for part in parts)])
        shape = (counts.size - 1, self.columns_.features)
        matrix = scipy.sparse.csr_matrix((data, indices, np.cumsum(counts)), shape=shape)
        matrix.sort_indices()
        return matrix

    def _rows(self, texts: pa.Array, named: NamedFeatures | None) -> Iterator[Rows]:
        """The rows of texts, chunk by chunk, without spare capacity."""
        columns, normalize = self.columns_, bool(self.normalize)
        for _, tokens in self.tokenizer_.chunks(texts, named):
            rows = columns.look_up(tokens, normalize, self.dtype, -1)
            size = int(rows.indptr[-1])
            compact = Rows(rows.indptr, rows.indices[:size].copy(), rows.data[:size].copy())
            yield self.class_counts_.weighted(compact, normalize, columns.features)

    def merge_all(self, models: list[Self], how: str) -> Self:
        """One vectorizer from several: their columns and counts add up."""
        if how != "kl":
            raise InvalidParameter(
                f"merge of TextFeatures adds counts up, whatever how={how!r} says; leave it out"
            )
        first: Any = self
        given = first.get_params()
        merged = type(self)(**given)
        for number, model in enumerate(models, 1):
            for name, ours in given.items():
                check_equal(name, ours, getattr(model, name), number)
        merged.begin()
        several: list[Any] = [model.columns_ for model in models]
        places: list[Any] = [None] * len(models)
        if isinstance(merged.columns_, Vocabulary):
            merged.columns_, places = merge_vocabularies(several)
        else:
            merged.columns_ = merge_hashings(several)
        for model, where in zip(models, places, strict=True):
            merged.class_counts_.add(model.class_counts_, where, merged.columns_.features)
        return merged

    def __sklearn_is_fitted__(self) -> bool:
        """Whether any texts have been seen."""
        return hasattr(self, "columns_")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may assume."""
        tags = cast(Any, super()).__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = self.weighting == "nb"
        tags.requires_fit = True
        return tags


def _labels(y: Any, texts: pa.Array) -> NDArray[Any] | None:
    """The labels of texts, as many of them."""
    if y is None:
        return None
    labels = as_labels(y)
    if labels.shape != (len(texts),):
        raise DataError(
            f"TextFeatures: there are {len(texts):,} texts, but y has the shape {labels.shape}"
        )
    return labels
