"""The papers' learners, by name, with the grids that their parameters are chosen from.

Ours come from sureline, the others from scikit-learn. The papers do not print their grids. Every
page says how often a choice lies at an end of ours (`ends.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Setting = dict[str, float]


@dataclass(frozen=True)
class Learner:
    """A learner and the grid that its parameters are chosen from.

    `make(**setting, random_state=seed)` gives an estimator. An `online` one learns pass by pass
    with partial_fit, and the number of passes is chosen too. `prepare` makes of all rows what its
    models take in their place; then a model made by `timed` is the one whose training time counts.
    """

    name: str
    title: str  # as the papers' tables call it
    make: Callable[..., Any]
    grid: tuple[Setting, ...] = ({},)
    online: bool = True
    prepare: Callable[[Any], Any] | None = None
    timed: Callable[..., Any] | None = None


def grid(**values: Iterable[float]) -> tuple[Setting, ...]:
    """Every combination, the first parameter's values slowest."""
    return tuple(dict(zip(values, each, strict=True)) for each in product(*values.values()))


def show(setting: Setting) -> str:
    """A setting as the tables print it."""
    letters = {"phi": "φ", "eta": "η"}
    return ", ".join(f"{letters.get(name, name)} = {x:.4g}" for name, x in setting.items())


# φ of the variance constraint does what φ times the length of a row does for the deviation's.
PHI = {
    "variance": grid(phi=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)),
    "stdev": grid(phi=(0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)),
}
DECADES = tuple(10.0**k for k in range(-6, 4))
C_OF_PA = grid(C=tuple(10.0 ** (k / 2) for k in range(-10, 3)))
R_OF_AROW = grid(r=tuple(10.0 ** (k / 2) for k in range(-3, 7)))
A_OF_SOP = grid(a=tuple(10.0**k for k in range(-6, 7)))


def make_cw(
    phi: float, constraint: str = "variance", covariance: str = "diagonal-kl", **others: Any
) -> Any:
    """Confidence-weighted learning with the papers' φ, where the confidence is Φ(φ)."""
    from sureline import CWClassifier

    return CWClassifier(
        constraint=constraint,  # type: ignore[arg-type]
        covariance=covariance,  # type: ignore[arg-type]
        confidence=float(norm.cdf(phi)),
        **_plain(others),
    )


def make_ours(name: str, **settings: Any) -> Any:
    """One of sureline's classifiers by the name of its class."""
    import sureline

    return getattr(sureline, name)(**_plain(settings))


def make_naive_bayes(random_state: int | None = None) -> Any:
    """Multinomial naive Bayes with Laplace's smoothing, as MALLET's default; nothing is random."""
    from sklearn.naive_bayes import MultinomialNB

    return MultinomialNB(alpha=1.0)


def make_maxent(variance: float, random_state: int | None = None) -> Any:
    """Maximum entropy with a Gaussian prior of that variance, as MALLET's."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=variance, max_iter=1000, tol=1e-3, random_state=random_state)


def make_svm(C: float, random_state: int | None = None) -> Any:
    """A linear SVM by LibSVM."""
    from sklearn.svm import SVC

    return SVC(kernel="linear", C=C, random_state=random_state)


@dataclass(frozen=True)
class Products:
    """Some rows of a matrix, known by their products with all of its rows."""

    table: NDArray[np.float64]
    rows: NDArray[np.intp]

    def __getitem__(self, chosen: NDArray[np.intp]) -> Products:
        return Products(self.table, self.rows[chosen])


def multiply_rows(X: Any) -> Products:
    """The products of all rows with each other, on which a linear SVM depends alone."""
    wide = X.astype(np.float64)
    return Products((wide @ wide.T).toarray(), np.arange(X.shape[0]))


class ProductSVM:
    """`make_svm`'s model, from products that are there already."""

    def __init__(self, C: float, random_state: int | None = None) -> None:
        from sklearn.svm import SVC

        self._svm = SVC(kernel="precomputed", C=C, random_state=random_state)

    def fit(self, X: Products, y: NDArray[Any]) -> ProductSVM:
        """Learn these rows."""
        self._known = X.rows
        self._svm.fit(X.table[np.ix_(X.rows, X.rows)], y)
        return self

    def predict(self, X: Products) -> NDArray[Any]:
        """The labels of these rows."""
        return np.asarray(self._svm.predict(X.table[np.ix_(X.rows, self._known)]))


def make_sgd(eta: float, random_state: int | None = None) -> Any:
    """Stochastic gradient descent on the modified Huber loss, at a constant rate."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(
        loss="modified_huber",
        penalty=None,
        learning_rate="constant",
        eta0=eta,
        fit_intercept=False,
        shuffle=False,  # rows come in a new order each pass already
        random_state=random_state,
    )


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings; without an intercept unless they name one, as in the papers."""
    return {"fit_intercept": False, **settings}


class Averaged:
    """A learner whose prediction is by the average of its weights, taken every `EVERY` rows."""

    EVERY = 50

    def __init__(self, model: Any) -> None:
        self._model, self._sum = model, 0.0

    def partial_fit(self, X: Any, y: NDArray[Any], classes: NDArray[Any]) -> None:
        """Learn these rows, and add up the weights on the way."""
        for start in range(0, y.size, self.EVERY):
            rows = slice(start, start + self.EVERY)
            self._model.partial_fit(X[rows], y[rows], classes=classes)
            self._sum = self._sum + self._model.coef_.ravel().astype(np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of these rows."""
        return np.asarray(self._model.classes_[(X @ self._sum > 0).astype(int)])


class Weighted:
    """A learner of rows that are weighted by tf-idf, as the first training rows have it."""

    def __init__(self, model: Any) -> None:
        from sklearn.feature_extraction.text import TfidfTransformer

        self._model, self._tfidf, self._known = model, TfidfTransformer(), False

    def _weigh(self, X: Any) -> Any:
        if not self._known:
            self._tfidf.fit(X)
            self._known = True
        return self._tfidf.transform(X)

    def partial_fit(self, X: Any, y: NDArray[Any], classes: NDArray[Any]) -> None:
        """Learn these rows."""
        self._model.partial_fit(self._weigh(X), y, classes=classes)

    def fit(self, X: Any, y: NDArray[Any]) -> Weighted:
        """Learn these rows."""
        self._model.fit(self._weigh(X), y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of these rows."""
        return np.asarray(self._model.predict(self._weigh(X)))


def make_linear_svm(C: float, random_state: int | None = None) -> Any:
    """A linear SVM by LibLinear, with the hinge loss."""
    from sklearn.svm import LinearSVC

    return LinearSVC(loss="hinge", C=C, random_state=random_state)


def wrap(wrapper: Callable[[Any], Any], make: Callable[..., Any]) -> Callable[..., Any]:
    """How to make an estimator within another."""
    return lambda **settings: wrapper(make(**settings))


LEARNERS: dict[str, Learner] = {}


def add(learner: Learner) -> None:
    """Enter a learner under its name."""
    LEARNERS[learner.name] = learner


for _short, _constraint in (("var", "variance"), ("stdev", "stdev")):
    for _end in ("kl", "l2", "exact"):
        add(
            Learner(
                f"cw-{_short}-{_end}",
                f"{_short} {'exact' if _end == 'exact' else _end.upper()}",
                partial(make_cw, constraint=_constraint, covariance=f"diagonal-{_end}"),
                PHI[_constraint],
            )
        )
add(Learner("perceptron", "Per", partial(make_ours, "PerceptronClassifier", average=False)))
add(Learner("pa", "PA", partial(make_ours, "PAClassifier", variant=1), C_OF_PA))
add(Learner("sop", "SOP", partial(make_ours, "SOPClassifier"), A_OF_SOP))
add(Learner("arow", "AROW", partial(make_ours, "AROWClassifier"), R_OF_AROW))
add(Learner("sgd", "SGD", make_sgd, grid(eta=tuple(10.0 ** (k / 2) for k in range(-14, 3)))))
add(Learner("naive-bayes", "NB", make_naive_bayes, online=False))
add(Learner("maxent", "Maxent", make_maxent, grid(variance=DECADES), online=False))
add(
    Learner(
        "svm",
        "SVM",
        ProductSVM,
        grid(C=DECADES),
        online=False,
        prepare=multiply_rows,
        timed=make_svm,
    )
)

# Techniques that the papers tried, under names that end with them.
AVERAGED, TF_IDF = " averaged", " tf-idf"
for _name in ("perceptron", "pa", "cw-var-kl"):
    _one = LEARNERS[_name]
    add(
        Learner(
            f"{_name}{AVERAGED}", f"{_one.title}{AVERAGED}", wrap(Averaged, _one.make), _one.grid
        )
    )
add(Learner("linear-svm", "linear SVM", make_linear_svm, grid(C=DECADES), online=False))
for _name in ("pa", "cw-var-kl", "linear-svm"):
    _one = LEARNERS[_name]
    add(
        Learner(
            f"{_name}{TF_IDF}",
            f"{_one.title}{TF_IDF}",
            wrap(Weighted, _one.make),
            _one.grid,
            online=_one.online,
        )
    )
