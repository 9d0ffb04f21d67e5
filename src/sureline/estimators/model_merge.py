"""`merge`: one classifier from several that were trained apart, on shards or at different times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sureline.errors import DataError, InvalidParameter, show
from sureline.estimators.prediction import PredictionMixin
from sureline.estimators.validation import check_layout
from sureline.model.linear import LinearModel
from sureline.model.merge.algebra import How, Indices, check_how
from sureline.model.merge.pairs import merge_pairs
from sureline.model.merge.states import merge_states
from sureline.model.sparse_state import SparseState, as_sparse

L = TypeVar("L", bound=LinearModel)
M = TypeVar("M")

# What only decides how `fit` goes through its examples may differ between models.
FREE = (
    "max_iter",
    "shuffle",
    "random_state",
    "early_stopping",
    "validation_fraction",
    "n_iter_no_change",
    "class_weight",
    "memory_limit_gb",
    "n_jobs",
    "drift",
)


def merge(models: Iterable[M], how: How = "kl") -> M:
    """One model from several that were trained apart; those given are left alone.

    Parameters
    ----------
    models : list of fitted classifiers
        Of one class and with the same parameters, except those that only control `fit`. They may
        know different classes and different numbers of features: what a model has not seen counts
        as in a new model.
    how : {"kl", "mean", "product", "product-prior"}, default="kl"
        ``"kl"``, the Gaussian nearest to all models, as sure as they are on average: weights are
        averaged by how sure each model is of them. ``"product"``, the same weights with all
        precisions added. ``"product-prior"``, as if one model had seen all examples: the prior
        is counted once. ``"mean"``, plain averages, the only way for rules that
        keep no variances.

    Returns
    -------
    classifier
        A new model, which can be trained further. Parameters that may differ are those of the
        first. A model that was merged itself counts as many times as models went into it.

    Raises
    ------
    InvalidParameter
        If the models do not fit each other: the message says what differs.

    Examples
    --------
    >>> from sureline import AROWClassifier, merge
    >>> one = AROWClassifier(random_state=0).fit([[1, 0, 0], [0, 1, 0]], ["spam", "ham"])
    >>> two = AROWClassifier(random_state=0).fit([[0, 0, 1], [0, 1, 0]], ["spam", "ham"])
    >>> merge([one, two]).predict([[1, 0, 0], [0, 0, 1], [0, 1, 0]]).tolist()
    ['spam', 'spam', 'ham']
    """
    given: list[Any] = list(models)
    check_class(given)
    first = given[0]
    if hasattr(first, "merge_all"):  # a class that has more to merge than a linear model
        return cast(M, first.merge_all(given, how))
    merged = type(first)(**first.get_params(deep=False))
    with locked_models(given, given, how) as several:
        model = merged_model(several, how, first)
        names = _feature_names(given, model.state.features)
    merged.adopt(model, max(each.n_iter_ for each in given))
    merged.n_features_in_ = model.state.features
    if names is not None:
        merged.feature_names_in_ = names
    return cast(M, merged)


class MergeMixin:
    """A model that can be merged with others."""

    def merge(self, *others: Any, how: How = "kl") -> Self:
        """A new model from this one and others that were trained apart; see `sureline.merge`.

        Parameters
        ----------
        *others : fitted classifiers
            Of the same class and with the same parameters.
        how : {"kl", "mean", "product", "product-prior"}, default="kl"
            How weights and their uncertainty are combined.

        Returns
        -------
        classifier
            The merged model, which can be trained further; this one is left alone.
        """
        merged: Self = merge([self, *others], how)
        return merged


@contextmanager
def locked_models(
    classifiers: Sequence[Any], estimators: Sequence[Any], how: How
) -> Iterator[list[Any]]:
    """The models of classifiers, whose estimators must allow to merge them; none learns now."""
    with ExitStack() as held:
        for each in sorted(classifiers, key=id):  # always in the same order, against deadlocks
            held.enter_context(each.model_.lock.learning)
        models = [each.model_ for each in classifiers]
        check_mergeable(estimators, models)
        check_how(models[0].learner, how, "merge")
        yield models


def merged_model(
    models: Sequence[L],
    how: How,
    estimator: Any,
    rows: Sequence[Indices | None] | None = None,
    features: int = 0,
) -> L:
    """The merged model of several with the same learner.

    `rows` has the place of each model's features among all `features`; without it they keep
    theirs. `estimator` sets the limit of memory, and is named in messages.
    """
    first = models[0]
    if len(models) == 1:
        return first.on(first.state.copy(), first.labels.copy())
    learner, limit = first.learner, estimator.memory_limit_gb
    owner = f"merge of {type(estimator).__name__}"
    labels = merged_labels([model.labels for model in models])
    forgetting = learner.forgetting
    states = [model.state for model in models]
    if forgetting is not None:
        states = [forgetting.settled(state) for state in states]
    if rows is None:
        rows = [None] * len(models)
        features = max(state.features for state in states)
    states = [
        state if places is None else state.trimmed(places.size)
        for state, places in zip(states, rows, strict=True)
    ]
    classes = [np.searchsorted(labels, model.labels) for model in models]
    total = labels.size
    if learner.multilabel:  # the first column belongs to no label
        classes, total = [np.concatenate([[0], 1 + each]) for each in classes], total + 1
    wide = labels.size > 2 or any(state.wide for state in states)
    sparse = wide and (
        total > learner.most_dense or any(isinstance(each, SparseState) for each in states)
    )
    if not sparse:
        learner.layout.check(features, total if wide else 1, limit, owner)
    if wide:
        states = [state if state.wide else learner.widen(state, limit, owner) for state in states]
        columns = classes
    else:
        columns = [np.zeros(1, np.intp) for _ in models]
    if sparse:
        several = [as_sparse(state, limit) for state in states]
        pairs = merge_pairs(learner, several, columns, rows, features, how, limit)
        return first.on(pairs, labels)
    state = merge_states(learner, states, columns, rows, features, how, classes)
    if forgetting is not None:
        forgetting.restart(state)
    return first.on(state, labels)


def check_class(models: Sequence[Any]) -> None:
    """Refuse models that are not fitted, or not of one class."""
    if not models:
        raise InvalidParameter("merge needs at least one model, got none")
    first = models[0]
    for number, model in enumerate(models, 1):
        if not (isinstance(model, PredictionMixin) or hasattr(type(model), "merge_all")):
            raise InvalidParameter(
                f"merge takes fitted classifiers that learn online, but model {number} is of class "
                f"{type(model).__name__}; fit one model on all examples instead"
            )
        if type(model) is not type(first):
            raise InvalidParameter(
                f"merge takes models of one class, but model 1 is {type(first).__name__} and model "
                f"{number} is {type(model).__name__}"
            )
        check_is_fitted(model)


def check_mergeable(estimators: Sequence[Any], models: Sequence[LinearModel]) -> None:
    """Refuse online classifiers of one class that learn differently."""
    expected: dict[str, Any] = estimators[0].get_params(deep=False)
    for number, (estimator, model) in enumerate(zip(estimators, models, strict=True), 1):
        for name, value in estimator.get_params(deep=False).items():
            if name not in FREE and value != expected[name]:
                raise InvalidParameter(
                    f"merge takes models with the same parameters, but {name} is "
                    f"{show(expected[name])} in model 1 and {show(value)} in model {number}"
                )
        model.learner.check_learns(f"merge: model {number}")
        check_layout(estimator, model, f"merge: model {number}")
        half_lives = models[0].learner.half_life, model.learner.half_life
        if half_lives[0] != half_lives[1]:
            raise InvalidParameter(
                f"merge takes models that forget alike, but half_life is {half_lives[0]} in model "
                f"1 and {half_lives[1]} in model {number}"
            )


def merged_labels(several: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """All labels, sorted; text and numbers cannot be merged."""
    kinds = ["text" if labels.dtype.kind in "USOT" else "numbers" for labels in several]
    for number, kind in enumerate(kinds, 1):
        if kind != kinds[0]:
            raise DataError(f"merge: labels are {kinds[0]} in model 1 and {kind} in model {number}")
    try:
        union = np.unique(np.concatenate(several))
    except TypeError:
        raise DataError("merge: the labels of the models cannot be sorted together") from None
    for number, labels in enumerate(several, 1):
        if not set(labels.tolist()) <= set(union.tolist()):
            raise DataError(
                f"merge: no dtype holds the labels of all models exactly; those of model {number} "
                f"are {labels.dtype}, together they would become {union.dtype}"
            )
    return union


def _feature_names(models: Sequence[Any], features: int) -> NDArray[Any] | None:
    """The names of the features if all models have them; they must name the same features."""
    if not all(hasattr(model, "feature_names_in_") for model in models):
        return None
    longest = next(model for model in models if model.model_.state.features == features)
    names: NDArray[Any] = longest.feature_names_in_
    for number, model in enumerate(models, 1):
        own = model.feature_names_in_
        differ = np.flatnonzero(own != names[: own.size])
        if differ.size:
            k = differ[0]
            raise DataError(
                f"merge: feature {k} is named {own[k]!r} in model {number} and {names[k]!r} in "
                "another; give all models the same columns in the same order"
            )
    return names.copy()
