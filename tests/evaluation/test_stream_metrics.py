"""Measures along a stream, against scikit-learn's on each window."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score

from sureline import DataError, InvalidParameter
from sureline.evaluation import stream_measures


def drawn(n=300, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return y, np.where(rng.random(n) < 0.6, y, rng.integers(0, classes, n))


@pytest.mark.parametrize("window", [None, 1, 40, 1000])
def test_a_window_is_measured_as_scikit_learn_measures_it(window):
    y, guess = drawn()
    found = stream_measures(y, guess, window=window)
    for k in (0, 5, 39, 40, 41, 299):
        part = slice(max(0, k + 1 - (window or 1000)), k + 1)
        assert found.accuracy[k] == pytest.approx(accuracy_score(y[part], guess[part]))
        if len({*y[part], *guess[part]}) > 1:
            assert found.kappa[k] == pytest.approx(cohen_kappa_score(y[part], guess[part]))
        else:
            assert found.kappa[k] == 0.0
        before = np.concatenate([[-1], y[:-1]])[part]
        repeated = accuracy_score(y[part], before)
        expected = (found.accuracy[k] - repeated) / (1 - repeated) if repeated < 1 else 0.0
        assert found.kappa_temporal[k] == pytest.approx(expected)


def test_fading_measures_are_weighted_ones():
    y, guess = drawn()
    found = stream_measures(y, guess, fading=0.97)
    for k in (0, 10, 299):
        weight = 0.97 ** np.arange(k, -1, -1)
        part = slice(0, k + 1)
        assert found.accuracy[k] == pytest.approx(
            accuracy_score(y[part], guess[part], sample_weight=weight)
        )
        if k:
            expected = cohen_kappa_score(y[part], guess[part], sample_weight=weight)
            assert found.kappa[k] == pytest.approx(expected)


def test_points_are_places_of_the_stream():
    y, guess = drawn()
    whole, some = stream_measures(y, guess), stream_measures(y, guess, points=4)
    assert some.examples.tolist() == [75, 150, 225, 300]
    for name in ("accuracy", "kappa", "kappa_temporal"):
        np.testing.assert_array_equal(
            getattr(some, name), getattr(whole, name)[[74, 149, 224, 299]]
        )


def test_text_labels_and_none_before_the_first_class():
    y = np.array(["ham", "spam", "ham", "ham"])
    found = stream_measures(y, np.array([None, "ham", "ham", "ham"], dtype=object))
    assert found.accuracy.tolist() == [0.0, 0.0, pytest.approx(1 / 3), 0.5]


@pytest.mark.parametrize(
    ("arguments", "settings", "error", "message"),
    [
        (([1, 2], [1]), {}, DataError, "as many labels as predictions"),
        (([], []), {}, DataError, "one at least"),
        (([1], [1]), {"window": 0}, InvalidParameter, "window must be a whole number of at least"),
        (([1], [1]), {"fading": 1.0}, InvalidParameter, r"fading must be a number in \(0, 1\)"),
        (([1], [1]), {"window": 5, "fading": 0.9}, InvalidParameter, "window or fading, not both"),
    ],
)
def test_arguments_are_checked(arguments, settings, error, message):
    with pytest.raises(error, match=message):
        stream_measures(*arguments, **settings)
