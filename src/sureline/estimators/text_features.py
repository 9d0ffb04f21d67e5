"""Texts to sparse matrices, as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sureline.data import as_text
from sureline.errors import InvalidParameter
from sureline.estimators.describing import described, documented
from sureline.estimators.text_options import TextOptions
from sureline.features.rows import Rows
from sureline.features.vocabulary import KEPT_SHARE, Vocabulary, largest


@documented
class TextFeatures(TextOptions, TransformerMixin, BaseEstimator):
    """Words, their neighbours and characters of texts as the columns of a sparse matrix.

    It does in compiled code what scikit-learn's CountVectorizer and HashingVectorizer do, and can
    take their place in a pipeline. With ``features="vocabulary"`` it can go on learning words with
    `partial_fit`; words that have no column are left out by `transform`. At `max_features`, the
    features that the fewest texts have had are forgotten.

    Examples
    --------
    >>> from sureline import TextFeatures
    >>> features = TextFeatures(ngrams=(1, 2), normalize=False).fit(["free prize", "free time"])
    >>> features.get_feature_names_out()
    array(['free', 'free prize', 'prize', 'free time', 'time'], dtype=object)
    >>> features.transform(["a prize, a free prize"]).toarray()
    array([[1., 1., 1., 0., 0.]], dtype=float32)
    """

    dtype: str = described("float32", "The kind of number of the matrix: 'float32' or 'float64'.")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which features there are.

        Parameters
        ----------
        X : list, array or column of str
            The texts.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted transformer.
        """
        self._scheme_, self._columns_ = self._checked(), self._columns(naming=False)
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn more features, on top of those known.

        Parameters
        ----------
        X : list, array or column of str
            The texts.
        y : None
            Ignored.

        Returns
        -------
        self
            The transformer.
        """
        texts, scheme = as_text(X), self._checked()
        if not self.__sklearn_is_fitted__():
            self._scheme_, self._columns_ = scheme, self._columns(naming=False)
        elif scheme != self._scheme_:
            raise InvalidParameter(
                "TextFeatures: partial_fit cannot go on after set_params has changed how texts "
                "are read; fit anew, or change it back"
            )
        columns = self._columns_
        if isinstance(columns, Vocabulary):
            for _, found in scheme.pieces(texts):
                begin = 0
                while begin < len(found):
                    columns.reserve(found, begin)
                    _, begin = columns.enter(found, begin, False, self.dtype)
                    if columns.full:
                        size = int(KEPT_SHARE * columns.features)
                        seen = columns.held.seen[: columns.features]
                        columns.held = columns.pruned(largest(seen, size))
        return self

    def transform(self, X: Any) -> scipy.sparse.csr_matrix:
        """The features of texts.

        Parameters
        ----------
        X : list, array or column of str
            The texts.

        Returns
        -------
        sparse matrix of shape (n_samples, n_features)
            A row a text.
        """
        check_is_fitted(self)
        columns, parts = self._columns_, list[Rows]()
        for _, found in self._scheme_.pieces(as_text(X)):
            rows = columns.look_up(found, bool(self.normalize), self.dtype, -1)
            size = int(rows.indptr[-1])
            parts.append(Rows(rows.indptr, rows.indices[:size].copy(), rows.data[:size].copy()))
        counts = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.indptr) for part in parts)])
        data = np.concatenate([np.zeros(0, self.dtype), *(part.data for part in parts)])
        indices = np.concatenate([np.zeros(0, np.int32), *(part.indices for part in parts)])
        matrix = scipy.sparse.csr_matrix(
            (data, indices, np.cumsum(counts)), shape=(counts.size - 1, columns.features)
        )
        matrix.sort_indices()
        return matrix

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
        names = [self._columns_.name(j) for j in range(self._columns_.features)]
        return np.array(names, dtype=object)

    def _checked(self) -> Any:
        scheme = self._scheme()
        if self.dtype not in ("float32", "float64"):
            raise InvalidParameter(
                f"TextFeatures: dtype must be 'float32' or 'float64', got {self.dtype!r}"
            )
        return scheme

    def __sklearn_is_fitted__(self) -> bool:
        """Whether any texts have been seen."""
        return hasattr(self, "_columns_")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may assume."""
        tags = cast(Any, super()).__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = True
        return tags
