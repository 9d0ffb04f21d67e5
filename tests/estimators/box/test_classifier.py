"""BoxClassifier: the optimum, its certificate, streams, edges, scikit-learn's checks."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from cases import several, stream
from estimator_checks import parametrize_with_checks, run_check
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sureline import BoxClassifier, DataError, InvalidParameter

LOSSES = ("hinge", "squared-hinge", "huber")
REGULARIZERS = ("max", "sum")
TIGHT = {"C": 0.05, "D": 0.02, "tol": 1e-9, "random_state": 0}


def objective(model, X, y, weight=None, row=0, positive=1.0):
    """The problem as the paper states it, from the attributes of a model."""
    mu = np.append(model.coef_[row], model.intercept_[row] if model.fit_intercept else [])
    sigma = np.append(model.width_[row], model.intercept_width_[row] if model.fit_intercept else [])
    if model.fit_intercept:
        X = np.column_stack([X, np.ones(len(X))])
    margin = np.where(y == positive, 1.0, -1.0) * (X @ mu) - np.abs(X) @ sigma
    low, high = np.square(mu - sigma), np.square(mu + sigma)
    corners = np.maximum(low, high) if model.regularizer == "max" else low + high
    volume = -model.C * np.log(2.0 * sigma).sum()
    average = np.average(losses(margin)[model.loss], weights=weight)
    return average + volume + model.D * corners.sum()


def taken(model):
    """The values of C and D."""
    return [model.C_, model.D_]


def losses(margin):
    short = np.maximum(0.0, 1.0 - margin)
    bent = np.where(margin < 0.5, 1.0 - margin, np.square(np.maximum(0.0, 1.5 - margin)) / 2.0)
    return {"hinge": short, "squared-hinge": short**2, "huber": bent}


def optimum(X, y, weight, regularizer, loss, C, D):
    """The same problem, solved by cvxpy."""
    cvxpy = pytest.importorskip("cvxpy")
    X = np.column_stack([X, np.ones(len(X))])
    mu, sigma = cvxpy.Variable(X.shape[1]), cvxpy.Variable(X.shape[1])
    margin = cvxpy.multiply(y, X @ mu) - np.abs(X) @ sigma
    short = cvxpy.pos(1 - margin)
    if loss == "squared-hinge":
        short = cvxpy.square(short)
    if loss == "huber":  # the least z²/2 + rest, with z ≤ 1, that makes up for the margin
        z = cvxpy.Variable(len(y))
        rest = cvxpy.pos(1.5 - margin - z)
        short = cvxpy.square(z) / 2 + rest
    edge = cvxpy.Variable(X.shape[1])
    cost, limits = cvxpy.sum_squares(edge), [edge >= sigma + mu, edge >= sigma - mu]
    if regularizer == "sum":
        cost, limits = 2 * (cvxpy.sum_squares(mu) + cvxpy.sum_squares(sigma)), []
    average = (weight / weight.sum()) @ short
    limits += [z >= 0, z <= 1] if loss == "huber" else []
    volume = cvxpy.sum(cvxpy.log(2 * sigma))
    problem = cvxpy.Problem(cvxpy.Minimize(average - C * volume + D * cost), limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return problem.solve(
            solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
        )


# -- the optimum -------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_both_solvers_against_cvxpy(regularizer, loss):
    for seed, (C, D) in enumerate([(0.01, 0.01), (0.1, 0.003), (0.001, 0.1)][: several(3, 1)]):
        X, y = stream(seed, n=50, d=6, noise=0.15)
        weight = np.random.default_rng(seed).uniform(0.2, 3.0, len(y))
        best = optimum(X, y, weight, regularizer, loss, C, D)
        settings = {"regularizer": regularizer, "loss": loss, "C": C, "D": D, "random_state": 0}
        exact = BoxClassifier(tol=1e-9, **settings).fit(X, y, weight)
        assert exact.objective_ == pytest.approx(objective(exact, X, y, weight), abs=1e-12)
        assert abs(exact.objective_ - best) <= 1e-7
        assert exact.dual_gap_ <= 1e-9
        rough = BoxClassifier(tol=0.03, **settings).fit(X, y, weight)
        assert rough.objective_ == pytest.approx(objective(rough, X, y, weight), abs=1e-12)
        assert -1e-7 <= rough.objective_ - best <= rough.dual_gap_ + 1e-7 <= 0.03 + 1e-7
        with pytest.warns(ConvergenceWarning, match="after max_iter="):
            near = BoxClassifier(
                solver="comid", tol=1e-8, max_iter=several(300, 30), **settings
            ).fit(X, y, weight)
        assert near.objective_ == pytest.approx(objective(near, X, y, weight), abs=1e-12)
        excess = near.objective_ - best
        assert -1e-7 <= excess <= near.dual_gap_ + 1e-7
        assert excess <= several(2e-3, 3e-2)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_comid_comes_closer_with_every_tenfold_of_passes(regularizer):
    X, y = stream(1, n=80, d=5, noise=0.1)
    settings = {**TIGHT, "regularizer": regularizer}
    best = BoxClassifier(**settings).fit(X, y).objective_
    excess = []
    for passes in (1, 10, 100)[: several(3, 2)]:
        with pytest.warns(ConvergenceWarning):
            model = BoxClassifier(solver="comid", max_iter=passes, **settings).fit(X, y)
        assert model.n_iter_ == passes
        excess.append(model.objective_ - best)
    assert all(later < 0.4 * before for before, later in pairwise(excess))
    stopped = BoxClassifier(solver="comid", **{**settings, "tol": 0.05}).fit(X, y)
    assert stopped.dual_gap_ <= 0.05
    assert stopped.n_iter_ < 100


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_one_heavy_row_stopped_comid_from_learning(regularizer):
    rng = np.random.default_rng(3)
    X = rng.poisson(0.3, (400, 60)).astype(float)
    y = np.where(X[:, :30].sum(axis=1) > X[:, 30:].sum(axis=1), 1.0, -1.0)
    X[7] *= 1000.0
    settings = {"regularizer": regularizer, "C": 1e-4, "D": 1e-2, "random_state": 0}
    best = BoxClassifier(tol=1e-3, **settings).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        model = BoxClassifier(solver="comid", tol=1e-9, max_iter=5, **settings).fit(X, y)
    stream = BoxClassifier(solver="comid", **settings)
    for _ in range(5):
        stream.partial_fit(X, y)
    assert model.objective_ < best.objective_ + 0.05
    assert model.score(X, y) > best.score(X, y) - 0.03
    assert stream.score(X, y) > best.score(X, y) - 0.05


def test_eta_is_how_far_first_steps_go():
    X, y = stream(26, n=60, noise=0.1)
    settings = {**TIGHT, "solver": "comid", "max_iter": 2}
    with pytest.warns(ConvergenceWarning):
        short, middle, long = (
            BoxClassifier(eta=eta, **settings).fit(X, y) for eta in (1e-4, 1e-2, 1.0)
        )
    sizes = [np.abs(model.coef_).sum() for model in (short, middle, long)]
    assert 10.0 * sizes[0] < sizes[1]
    assert 2.0 * sizes[1] < sizes[2]


def test_a_warning_says_how_far_the_optimum_may_be():
    X, y = stream(2, n=100, noise=0.2)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 rounds .* more than tol=1e-09"):
        model = BoxClassifier(**TIGHT, max_iter=2).fit(X, y)
    assert model.n_iter_ == 2
    assert model.dual_gap_ > 1e-9
    best = BoxClassifier(**TIGHT).fit(X, y).objective_
    assert model.objective_ - model.dual_gap_ <= best <= model.objective_


@pytest.mark.parametrize("solver", ["dual", "comid"])
def test_a_weight_of_2_was_not_the_example_twice(solver):
    X, y = stream(3, n=40)
    rng = np.random.default_rng(0)
    times = rng.integers(0, 4, len(y))
    weighted = BoxClassifier(solver=solver, tol=0.05, random_state=0).fit(X, y, times)
    order = rng.permutation(times.sum())
    rows, labels = np.repeat(X, times, axis=0)[order], np.repeat(y, times)[order]
    repeated = BoxClassifier(solver=solver, tol=0.05, random_state=0).fit(rows, labels)
    assert taken(repeated) == taken(weighted)
    for name in ("coef_", "width_", "intercept_", "objective_", "dual_gap_"):
        assert np.array_equal(getattr(repeated, name), getattr(weighted, name)), name
    once = BoxClassifier(solver=solver, tol=0.05, random_state=0).fit(X, y)
    assert not np.array_equal(once.coef_, weighted.coef_)


@pytest.mark.parametrize("solver", ["dual", "comid"])
def test_a_common_factor_of_weights_is_none_and_classes_have_theirs(solver):
    X, y = stream(3, n=40)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    settings = {**TIGHT, "tol": 1e-10 if solver == "dual" else 0.02, "solver": solver}
    weighted = BoxClassifier(**settings).fit(X, y, times)
    scaled = BoxClassifier(**settings).fit(X, y, 7.0 * times)
    assert np.allclose(scaled.coef_, weighted.coef_, rtol=1e-6)
    told = {-1.0: 2.0, 1.0: 0.5}
    by_class = BoxClassifier(class_weight=told, **settings).fit(X, y, times)
    by_hand = BoxClassifier(**settings).fit(X, y, times * np.where(y > 0, 0.5, 2.0))
    assert np.array_equal(by_class.coef_, by_hand.coef_)


def test_balanced_classes_weigh_the_same():
    X, y = stream(4, n=90)
    share = (y > 0).mean()
    balanced = BoxClassifier(class_weight="balanced", **TIGHT).fit(X, y)
    by_hand = BoxClassifier(class_weight={1.0: 0.5 / share, -1.0: 0.5 / (1 - share)}, **TIGHT)
    assert np.array_equal(balanced.coef_, by_hand.fit(X, y).coef_)


# -- what "auto" takes ----------------------------------------------------------------------------


def test_auto_shrinks_with_the_examples_and_grows_with_their_length():
    X, y = stream(23, n=80)
    X = X[(X != 0.0).any(axis=1)]
    y = y[: len(X)]
    model = BoxClassifier(tol=1e-6, random_state=0).fit(X, y)
    length = np.linalg.norm(X, axis=1).mean()
    expected = [1e-3 / len(y), 0.3 * length**2 / len(y)]
    assert taken(model) == pytest.approx(expected, rel=1e-12)
    same = BoxClassifier(C=model.C_, D=model.D_, tol=1e-6, random_state=0).fit(X, y)
    assert np.array_equal(same.coef_, model.coef_)
    twice = BoxClassifier(tol=1e-6).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert taken(twice) == pytest.approx([model.C_ / 2, model.D_ / 2], rel=1e-12)
    given = BoxClassifier(D=0.3, tol=1e-2).fit(X, y)
    assert taken(given) == [model.C_, 0.3]
    empty = BoxClassifier().fit(np.zeros((4, 2)), [0, 1, 1, 1])
    assert taken(empty) == pytest.approx([1e-3 / 4, 0.3 / 4])


def test_auto_does_not_mind_the_unit_of_the_features():
    X, y = stream(24, n=80, noise=0.1)
    settings = {"tol": 1e-10, "fit_intercept": False, "random_state": 0}
    model, other = (BoxClassifier(**settings).fit(scale * X, y) for scale in (1.0, 1000.0))
    assert 1000.0 * other.coef_ == pytest.approx(model.coef_, rel=1e-4)
    assert 1000.0 * other.width_ == pytest.approx(model.width_, rel=1e-4)


def test_auto_in_a_stream_is_what_fit_took_or_that_of_1000_rows_of_length_1():
    X, y = stream(25, n=60)
    fresh = BoxClassifier(solver="comid").partial_fit(X, y)
    assert taken(fresh) == pytest.approx([1e-6, 3e-4], rel=1e-12)
    model = BoxClassifier(solver="comid", tol=0.05, random_state=0).fit(X, y)
    before = taken(model)
    model.partial_fit(100.0 * X[:5], y[:5])
    assert taken(model) == before
    model.set_params(D=0.5).partial_fit(X[:5], y[:5])
    assert taken(model) == [before[0], 0.5]


# -- what the box looks like -------------------------------------------------------------------


def test_untouched_features_stay_and_bow_m_has_exact_zeros():
    X, y = stream(5, n=60, d=12, noise=0.2)
    X[:, 7] = 0.0
    for regularizer, start in (("max", np.sqrt(0.5)), ("sum", 0.5)):
        for solver in ("dual", "comid"):
            model = BoxClassifier(regularizer=regularizer, solver=solver, C=0.1, D=0.1, tol=1e-2)
            model.fit(X, y)
            assert model.coef_[0, 7] == 0.0
            assert model.width_[0, 7] == pytest.approx(start, rel=1e-14)
            assert (np.delete(model.width_[0], 7) < start).all()
            assert np.array_equal(model.lower_, model.coef_ - model.width_)
            assert np.array_equal(model.upper_, model.coef_ + model.width_)
    model = BoxClassifier(C=0.1, D=0.1, tol=1e-9).fit(X, y)
    zeros = (model.coef_[0] == 0.0).sum()
    assert 2 <= zeros < 12
    smooth = BoxClassifier(regularizer="sum", C=0.1, D=0.1, tol=1e-9).fit(X, y)
    assert (smooth.coef_[0] == 0.0).sum() == 1


def test_a_million_features_cost_their_constant_only():
    X, y = stream(6, n=40, d=5)
    columns = np.array([3, 500_000, 77, 999_999, 123_456])
    wide = scipy.sparse.csr_array((len(y), 1_000_000))
    for k, column in enumerate(columns):
        place = scipy.sparse.csr_array((np.ones(1), ([0], [column])), shape=(1, 1_000_000))
        wide = wide + scipy.sparse.csr_array(X[:, [k]]) @ place
    small, large = BoxClassifier(**TIGHT).fit(X, y), BoxClassifier(**TIGHT).fit(wide, y)
    start = np.sqrt(0.5 * 0.05 / 0.02)
    each = -0.05 * np.log(2.0 * start) + 0.02 * start**2
    assert large.objective_ == pytest.approx(small.objective_ + 999_995 * each, rel=1e-12)
    assert large.coef_[0, columns] == pytest.approx(small.coef_[0], abs=1e-4)
    assert (np.delete(large.coef_[0], columns) == 0.0).all()
    assert np.delete(large.width_[0], columns) == pytest.approx(start, rel=1e-14)


def test_worst_margin_is_the_least_over_the_corners():
    X, y = stream(7, n=20, d=3)
    model = BoxClassifier(**TIGHT).fit(X, y)
    corners = np.array(np.meshgrid(*np.column_stack([model.lower_[0], model.upper_[0]]))).reshape(
        3, -1
    )
    scores = y[:, None] * (X @ corners + model.intercept_) - model.intercept_width_
    assert model.worst_margin(X, y) == pytest.approx(scores.min(axis=1), abs=1e-12)
    with pytest.raises(DataError, match="labels that were not learned, such as"):
        model.worst_margin(X, y + 5)
    with pytest.raises(DataError, match="y has shape"):
        model.worst_margin(X, y[:3])


def test_without_intercept():
    X, y = stream(8)
    model = BoxClassifier(fit_intercept=False, **TIGHT).fit(X, y)
    assert model.intercept_.tolist() == model.intercept_width_.tolist() == [0.0]
    assert model.objective_ == pytest.approx(objective(model, X, y), abs=1e-12)


def test_many_classes_are_learned_one_against_the_rest():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((120, 4))
    y = np.array(["a", "b", "c"])[np.argmax(X @ rng.standard_normal((4, 3)), axis=1)]
    for solver in ("dual", "comid"):
        model = BoxClassifier(**{**TIGHT, "tol": 1e-2}, solver=solver).fit(X, y)
        assert model.coef_.shape == model.width_.shape == (3, 4)
        assert model.dual_gap_.shape == model.objective_.shape == (3,)
        for row, label in enumerate("abc"):
            value = objective(model, X, y, row=row, positive=label)
            assert model.objective_[row] == pytest.approx(value, abs=1e-12)
            alone = BoxClassifier(**TIGHT).fit(X, y == label)
            assert 0 <= model.objective_[row] - alone.objective_ + 1e-9 <= 1e-2 + 2e-9
        assert model.decision_function(X).shape == model.worst_margin(X, y).shape == (120, 3)
        assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
        assert model.score(X, y) > 0.85
        mean, variance = model.decision_distribution(X)
        assert np.array_equal(mean, model.decision_function(X))
        assert variance == pytest.approx(
            np.square(X) @ (model.width_.T**2) / 3.0 + model.intercept_width_**2 / 3.0
        )


# -- warm starts and streams -------------------------------------------------------------------


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_a_warm_start_goes_on(regularizer):
    X, y = stream(10, n=100, noise=0.2)
    model = BoxClassifier(regularizer=regularizer, warm_start=True, **TIGHT).fit(X, y)
    cold = model.n_iter_
    first = model.objective_
    assert model.fit(X, y).n_iter_ <= 2 < cold
    assert model.objective_ == pytest.approx(first, abs=2e-9)
    nearby = model.set_params(C=0.06).fit(X, y)
    fresh = BoxClassifier(**{**nearby.get_params(), "warm_start": False}).fit(X, y)
    assert nearby.objective_ == pytest.approx(fresh.objective_, abs=2e-9)
    nearby.fit(X[:50], y[:50])  # other examples: it begins anew
    assert nearby.objective_ == pytest.approx(
        clone(nearby).fit(X[:50], y[:50]).objective_, abs=2e-9
    )
    streamed = clone(model).set_params(solver="comid", tol=0.03).fit(X, y)
    assert streamed.fit(X, y).n_iter_ == 1
    assert streamed.set_params(solver="dual", tol=1e-9).fit(X, y).dual_gap_ <= 1e-9


@pytest.mark.parametrize("loss", LOSSES)
def test_a_stream_is_the_same_in_any_split(loss):
    X, y = stream(11, n=80)
    settings = {"solver": "comid", "C": 0.01, "D": 0.05, "loss": loss}
    whole = BoxClassifier(**settings).partial_fit(X, y)
    rng = np.random.default_rng(0)
    for named in (None, [-1.0, 1.0]):
        pieces = BoxClassifier(**settings)
        for part in np.split(np.arange(len(y)), np.sort(rng.integers(1, len(y), 9))):
            if part.size:
                pieces.partial_fit(X[part], y[part], classes=named)
                pieces.predict(X)  # reading in between changes nothing
        if named is None:
            assert np.array_equal(pieces.coef_, whole.coef_)
            assert np.array_equal(pieces.width_, whole.width_)
    assert (whole.width_ > 0).all()
    assert whole.score(X, y) > 0.7
    assert not hasattr(whole, "objective_")
    assert not hasattr(whole, "dual_gap_")


def test_a_stream_approaches_the_optimum():
    X, y = stream(12, n=several(20_000, 2_000), d=4, noise=0.1)
    settings = {"C": 0.01, "D": 0.05, "random_state": 0}
    best = BoxClassifier(tol=1e-6, **settings).fit(X, y)
    model = BoxClassifier(solver="comid", **settings).partial_fit(X, y)
    assert objective(model, X, y) - best.objective_ < several(2e-3, 2e-2)
    assert model.coef_ == pytest.approx(best.coef_, abs=several(0.03, 0.2))


def test_a_stream_goes_on_after_fit():
    X, y = stream(13, n=200, noise=0.1)
    model = BoxClassifier(**TIGHT).fit(X, y)
    assert not hasattr(model, "partial_fit")
    before = model.coef_
    model.set_params(solver="comid").partial_fit(X[:5], y[:5])
    assert not hasattr(model, "dual_gap_")
    assert 0.0 < np.abs(model.coef_ - before).max() < 0.1
    model.partial_fit(X, np.where(y > 0, 3.0, -1.0))
    assert model.classes_.tolist() == [-1.0, 1.0, 3.0]
    with pytest.raises(InvalidParameter, match="fit_intercept was True before"):
        model.set_params(fit_intercept=False).partial_fit(X, y)


def test_new_classes_may_come_at_any_time():
    rng = np.random.default_rng(14)
    X = rng.standard_normal((600, 3))
    y = np.array(["b", "d", "a", "c"])[(X[:, 0] > 0) + 2 * (X[:, 1] > 0)]
    settings = {"solver": "comid", "C": 0.001, "D": 0.01}
    model = BoxClassifier(**settings)
    assert model.partial_fit(X[:1], ["b"]).predict(X[:2]).tolist() == ["b", "b"]
    assert model.predict_proba(X[:2]).tolist() == [[1.0], [1.0]]
    order = np.argsort([{"b": 0, "d": 1}.get(label, 2) for label in y[:300]], kind="stable")
    model.partial_fit(X[order], y[order])
    for _ in range(5):
        model.partial_fit(X[300:], y[300:])
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.score(X, y) > 0.9
    named = BoxClassifier(**settings)
    for _ in range(5):
        named.partial_fit(X, y, classes=list("abcd"))
    assert named.score(X, y) > 0.9
    # Two classes learned as three differ only by the third: the first two stay as they were.
    two = BoxClassifier(**settings).partial_fit(X, X[:, 0] > 0)
    three = pickle.loads(pickle.dumps(two)).partial_fit(X[:1], [0], classes=[0, 1, 2])
    assert three.coef_[1] == pytest.approx(two.coef_[0], abs=1e-3)
    assert three.coef_[0] == pytest.approx(-two.coef_[0], abs=1e-3)
    assert three.coef_[2] == pytest.approx(0.0, abs=1e-2)


def test_weight_zero_leaves_an_example_out_of_a_stream():
    X, y = stream(15)
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    model = BoxClassifier(solver="comid").partial_fit(X, y, sample_weight=weight)
    other = BoxClassifier(solver="comid").partial_fit(X[weight > 0], y[weight > 0])
    assert np.array_equal(model.coef_, other.coef_)
    told = BoxClassifier(solver="comid", class_weight={1.0: 0.0})
    assert told.partial_fit(X, y, classes=[-1.0, 1.0]).classes_.tolist() == [-1.0, 1.0]


# -- edges -------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["dual", "comid"])
def test_empty_rows_and_constant_features(solver, loss):
    X, y = stream(16, n=60)
    X[:4] = 0.0
    X[:, 2] = 1.0
    X = np.column_stack([X, np.zeros(60)])
    X[0] = 0.0
    settings = {"solver": solver, "loss": loss, "C": 0.05, "D": 0.05, "tol": 1e-2}
    for fit_intercept in (True, False):
        model = BoxClassifier(fit_intercept=fit_intercept, **settings).fit(X, y)
        assert model.objective_ == pytest.approx(objective(model, X, y), abs=1e-12)
        if not fit_intercept:
            assert model.predict_proba(X[:1]).tolist() == [[0.5, 0.5]]
            assert model.predict(X[:1]).tolist() == [-1.0]
    nothing = BoxClassifier(**settings).fit(np.zeros((4, 2)), [0, 1, 1, 1])
    assert nothing.predict(np.zeros((1, 2))).tolist() == [1]
    blank = BoxClassifier(fit_intercept=False, **settings).fit(np.zeros((4, 2)), [0, 1, 1, 1])
    assert blank.coef_.tolist() == [[0.0, 0.0]]
    assert blank.dual_gap_ <= 1e-2


def test_a_constant_feature_shares_with_the_intercept():
    X, y = stream(16, n=60)
    X[:, 2] = 1.0
    model = BoxClassifier(**TIGHT).fit(X, y)
    assert model.intercept_ == pytest.approx(model.coef_[:, 2], abs=1e-3)
    assert model.intercept_width_ == pytest.approx(model.width_[:, 2], abs=1e-3)


def test_one_class_is_refused():
    X, y = stream(17)
    with pytest.raises(DataError, match="two classes; those with a weight above 0 hold one class"):
        BoxClassifier().fit(X, np.ones(len(y)))
    with pytest.raises(DataError, match=r"hold one class only, .*1\.0"):
        BoxClassifier().fit(X, y, sample_weight=(y > 0).astype(float))
    with pytest.raises(DataError, match="hold no class"):
        BoxClassifier(class_weight={-1.0: 0.0, 1.0: 0.0}).fit(X, y)
    three = np.arange(len(y)) % 3
    model = BoxClassifier(tol=1e-2).fit(X, three, sample_weight=(three > 0).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert 0 not in model.predict(X)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("regularizer", "mean", "regularizer must be 'max' or 'sum', got 'mean'"),
        ("loss", "log", "loss must be 'hinge', 'squared-hinge' or 'huber', got 'log'"),
        ("solver", 3, "solver must be 'dual' or 'comid', got 3"),
        ("dtype", "int", "dtype must be 'float32' or 'float64', got 'int'"),
        ("C", 0.0, r"C must be a number in \(0, inf\) or 'auto', got 0.0"),
        ("D", -1.0, r"D must be a number in \(0, inf\) or 'auto', got -1.0"),
        ("D", "1", r"D must be a number in \(0, inf\) or 'auto', got '1'"),
        ("eta", 0.0, r"eta must be a number in \(0, inf\), got 0.0"),
        ("tol", 0.0, r"tol must be a number in \(0, inf\), got 0.0"),
        ("max_iter", 0, "max_iter must be a whole number of at least 1, got 0"),
        ("fit_intercept", 1, "fit_intercept must be True or False, got 1"),
        ("warm_start", "no", "warm_start must be True or False, got 'no'"),
        ("class_weight", "even", "class_weight must be 'balanced', a dictionary by label or None"),
        ("class_weight", {1.0: -1.0}, "class_weight must hold finite weights of at least 0"),
    ],
)
def test_wrong_parameters_are_refused(name, value, words):
    X, y = stream(18)
    with pytest.raises(InvalidParameter, match=f"BoxClassifier: {words}"):
        BoxClassifier(**{name: value}).fit(X, y)


def test_what_a_stream_refuses():
    X, y = stream(19)
    model = BoxClassifier(solver="comid", class_weight="balanced")
    with pytest.raises(InvalidParameter, match="give class_weight as a dictionary"):
        model.partial_fit(X, y)
    with pytest.raises(DataError, match="labels are partly numbers and partly text"):
        BoxClassifier(solver="comid").partial_fit(X, y).partial_fit(X[:2], ["a", "b"])
    with pytest.raises(ValueError, match="Unknown label type"):
        BoxClassifier(solver="comid").partial_fit(X, y + 0.5)
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'"):
        _ = BoxClassifier().partial_fit
    with pytest.raises(NotFittedError):
        BoxClassifier().predict(X)
    with pytest.raises(AttributeError, match="has no width_ before it is fitted"):
        _ = BoxClassifier().width_


@pytest.mark.parametrize("solver", ["dual", "comid"])
def test_numbers_too_large_are_refused(solver):
    X, y = stream(20)
    with (
        pytest.raises(DataError, match="the numbers in X are too large"),
        np.errstate(all="ignore"),
    ):
        BoxClassifier(solver=solver).fit(1e200 * X, y)


@pytest.mark.parametrize("solver", ["dual", "comid"])
def test_dense_equals_sparse_a_seed_fixes_all_and_inputs_stay(solver):
    X, y = stream(21, noise=0.1)
    sparse, weight = scipy.sparse.csr_array(X), np.linspace(0.5, 1.0, len(y))
    for array in (X, y, weight, sparse.data, sparse.indices, sparse.indptr):
        array.flags.writeable = False
    settings = {"solver": solver, "C": 0.01, "D": 0.01, "tol": 1e-2}
    one = BoxClassifier(random_state=3, **settings).fit(X, y, weight)
    other = BoxClassifier(random_state=3, **settings).fit(sparse, y, weight)
    third = BoxClassifier(random_state=4, **settings).fit(sparse, y, weight)
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(sparse))
    assert not np.array_equal(one.coef_, third.coef_)
    half = BoxClassifier(random_state=3, dtype="float32", **settings).fit(X, y, weight)
    assert half.coef_.dtype == half.width_.dtype == np.float32
    assert half.objective_ == pytest.approx(one.objective_, abs=1e-2)


def test_copies_and_searches_work():
    X, y = stream(22, n=100)
    model = BoxClassifier(solver="comid", C=1e-3, D=1e-2, tol=0.02).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(copy.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)
    assert not hasattr(clone(model), "classes_")
    pipeline = make_pipeline(StandardScaler(), BoxClassifier(tol=0.05))
    search = GridSearchCV(pipeline, {"boxclassifier__D": [1e-2, 1e-1]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.75


FEW = {"max_iter": several(1000, 5)}
CHECKED = [
    BoxClassifier(tol=several(1e-15, 1e-2), C=0.01, D=0.01, random_state=0, **FEW),
    BoxClassifier(random_state=0, **FEW),
    BoxClassifier(
        regularizer="sum", solver="comid", tol=0.05, C=0.01, D=0.01, random_state=0, **FEW
    ),
]


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    run_check(check, estimator, {})
