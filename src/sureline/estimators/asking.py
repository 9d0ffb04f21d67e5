"""What other rooms ask of a fitted model, be it of texts or of numbers."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from scipy.sparse import csr_array

from sureline.estimators.online import OnlineClassifier
from sureline.estimators.text.classifier import TextClassifier
from sureline.estimators.text.knowledge import Knowledge
from sureline.model.learner import Floats

Model = TextClassifier | OnlineClassifier


def knowledge_of(model: TextClassifier) -> Knowledge:
    """How a model reads texts, which columns it has, and what learns their weights.

    Parameters
    ----------
    model : TextClassifier
        The model.
    """
    return model._known


def online_of(model: Model) -> OnlineClassifier:
    """The online classifier that learns the weights of a model.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        The model.
    """
    return knowledge_of(model).online if isinstance(model, TextClassifier) else model


def weights_of(model: Model, features: NDArray[Any]) -> tuple[Floats, Floats | None]:
    """The weights of some features, by class.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        The model.
    features : array of int
        The columns of the features, -1 for the constant one.

    Returns
    -------
    means, variances : arrays of shape (n, n_classes)
        Of two classes, the first has the second's mean with its sign turned. Rules without
        variances have None in place of these.
    """
    return model._columns_of(features)


def name_of(model: Model, feature: int) -> str:
    """What a feature is called; where rows are numbers, by its column.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        The model.
    feature : int
        The column of the feature.
    """
    if isinstance(model, TextClassifier):
        return knowledge_of(model).columns.name(feature)
    return str(feature)


def checked_rows(model: OnlineClassifier, X: Any) -> csr_array[Any]:
    """Rows of numbers as the model takes them, or scikit-learn's error.

    Parameters
    ----------
    model : OnlineClassifier
        The model.
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows.
    """
    return csr_array(model._checked(X, "no_validation", reset=False))
