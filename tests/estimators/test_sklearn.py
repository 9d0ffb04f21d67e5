"""scikit-learn's own checks over every estimator, and the tools people put estimators into."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from cases import CASES, make, stream
from estimator_checks import parametrize_with_checks, run_check
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from sureline import AROWClassifier, PAClassifier
from sureline.rules import rules

REPRESENTATIVE = ("arow", "pa-i", "sop")  # with a variance, without one, with a kernel of its own
OTHERS = [make(rule) for rule in rules().values() if rule.name not in REPRESENTATIVE]
OTHERS += [
    make(rules()[name], covariance=covariance)
    for name in ("cw-stdev", "arow")
    for covariance in ("full", "diagonal-exact")
]


def expected_failures(estimator):
    """The checks an estimator may fail, each with the reason."""
    order = (
        "an online learner depends on the order of its examples, so that an example of weight 2 is "
        "not the same as the example twice; scikit-learn exempts its own SGD estimators too"
    )
    expected = {
        "check_sample_weight_equivalence_on_dense_data": order,
        "check_sample_weight_equivalence_on_sparse_data": order,
    }
    if hasattr(estimator, "predict_proba"):
        expected["check_decision_proba_consistency"] = (
            "the probability ranks rows by m/√v, the decision function by the mean m: a row with a "
            "higher mean may well be the less certain one"
        )
    if getattr(estimator, "variant", None) == 0:
        expected["check_class_weight_classifiers"] = (
            "PA's margin is hard, so that weights have no effect; PA-I and PA-II pass"
        )
    if estimator.get_params().get("constraint") == "variance" or (
        estimator.get_params().get("constraint") and estimator.covariance == "full"
    ):
        expected["check_classifiers_train"] = (
            "with many classes the check wants the most probable class predicted; predict follows "
            "the papers and takes the highest mean, and a class of a lower mean and a larger "
            "variance may be the more probable one"
        )
        expected["check_class_weight_classifiers"] = (
            "on labels that are mostly noise the variances collapse before the heavy class has "
            "won; the default constraint passes"
        )
    return expected


@parametrize_with_checks([make(rules()[name]) for name in REPRESENTATIVE])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check):
    run_check(check, estimator, expected_failures(estimator))


@pytest.mark.slow
@parametrize_with_checks(OTHERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks_of_the_other_rules(estimator, check):
    run_check(check, estimator, expected_failures(estimator))


def test_works_in_a_pipeline_a_grid_search_and_calibration():
    X, y = stream(0, n=200)
    texts = [" ".join(f"w{j}" for j in np.flatnonzero(row > 0)) for row in X]
    pipeline = make_pipeline(HashingVectorizer(n_features=2**10), AROWClassifier(random_state=0))
    assert pipeline.fit(texts, y).score(texts, y) > (y == 1).mean()
    search = GridSearchCV(AROWClassifier(random_state=0), {"r": [0.1, 1.0, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_["r"] in (0.1, 1.0, 10.0)
    assert cross_val_score(AROWClassifier(random_state=0), X, y, cv=3).mean() > 0.8
    calibrated = CalibratedClassifierCV(PAClassifier(random_state=0), cv=3).fit(X, y)
    assert np.allclose(calibrated.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize(("rule", "covariance"), CASES)
def test_clone_pickle_and_joblib(rule, covariance, tmp_path):
    X, y = stream(1)
    model = make(rule, covariance, random_state=3).fit(X, y)
    scores = model.decision_function(X)
    joblib.dump(model, tmp_path / "model.joblib")
    copies = [pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")]
    copies.append(joblib.load(tmp_path / "model.joblib", mmap_mode="r"))
    model.partial_fit(X, y)
    for copy in copies:
        assert np.array_equal(copy.decision_function(X), scores)
        assert np.array_equal(copy.partial_fit(X, y).coef_, model.coef_)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "coef_")


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [False, True], [-1.0, 2.0], [7, 3]])
def test_labels_of_any_type(labels):
    X, y = stream(2)
    named = np.array(labels)[(y > 0).astype(int)]
    model = AROWClassifier(random_state=0).fit(X, named)
    assert model.classes_.tolist() == sorted(labels)
    assert model.classes_.dtype == named.dtype
    assert set(model.predict(X)) <= set(named)
    flipped = (model.predict(X) == labels[1]).mean()
    assert 0.2 < flipped < 0.8


def test_pandas_and_every_sparse_format_give_the_same_model():
    X, y = stream(3)
    expected = AROWClassifier(random_state=0).fit(X, y)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    ours = AROWClassifier(random_state=0).fit(frame, pd.Series(y))
    assert np.array_equal(ours.coef_, expected.coef_)
    assert ours.feature_names_in_.tolist() == list(frame.columns)
    for make_sparse in (
        scipy.sparse.csr_matrix,
        scipy.sparse.csc_matrix,
        scipy.sparse.coo_array,
        scipy.sparse.lil_matrix,
        scipy.sparse.csr_array,
    ):
        ours = AROWClassifier(random_state=0).fit(make_sparse(X), y)
        assert np.array_equal(ours.coef_, expected.coef_)
