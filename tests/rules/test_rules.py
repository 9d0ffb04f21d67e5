"""The scalar rules: optimal on random draws, right in the corners, passive when satisfied."""

import math

import mpmath
import numpy as np
import pytest
from cases import several

from sureline.rules import rules
from sureline.rules.adagrad_comid import shrunk
from sureline.rules.adagrad_rda import weight_of

SOLVED = [rule for rule in rules().values() if rule.step and rule.residual]
EXACT = [rule for rule in SOLVED if rule.exact]
DRAWS = several(10_000, 2_000)


def named(rule):
    return rule.name


def constants(rule, rng):
    """Random values in place of what the rule makes of its parameters, over six decades."""
    words = dict.fromkeys(rule.choices, 0.0)
    count = len(rule.constants(**{p.name: p.default for p in rule.parameters}, **words))
    return (*(10.0 ** rng.uniform(-5, 1, count)).tolist(), 0.0, 0.0)[:2]


def margins(rng):
    """A margin variance from 1e-14 to 1e12 and a margin of its size, of size 1, or far away."""
    v = 10.0 ** rng.uniform(-14, 12)
    scale = rng.choice([1.0, math.sqrt(v), v, 10.0 ** rng.uniform(-10, 10)])
    return float(scale * rng.standard_normal()), v


def draw_row(rng):
    """The w_p of a row with up to 50 features, spread over 12 decades, as margin and array."""
    m, v = margins(rng)
    w = 10.0 ** rng.uniform(-12, 0, rng.integers(1, 51))
    w *= v / w.sum()
    return m, w


@pytest.mark.parametrize("rule", SOLVED, ids=named)
def test_step_is_optimal(rule):
    rng = np.random.default_rng(1)
    moved = 0
    for _ in range(DRAWS):
        (m, v), (a, b) = margins(rng), constants(rule, rng)
        t, E = rule.step(m, v, 1.0, a, b)
        assert t >= 0
        assert E >= 0
        assert rule.residual(m, v, t, E, a, b) <= 1e-12, (m, v, a, b)
        moved += t > 0
    assert 0.2 * DRAWS < moved < 0.95 * DRAWS


@pytest.mark.parametrize("rule", EXACT, ids=named)
def test_exact_diagonal_step_is_optimal(rule):
    rng = np.random.default_rng(2)
    moved = 0
    for _ in range(DRAWS):
        (m, w), (a, b) = draw_row(rng), constants(rule, rng)
        v = float(w.sum())
        t, E = rule.step(m, v, 1.0, a, b)
        if t == 0 and E == 0:
            continue
        moved += 1
        growth = w.copy()
        exact = rule.exact(m, v, growth, t, E, 1.0, a, b)
        assert exact >= t * (1 - 1e-12)  # never shorter than the full-covariance step
        assert (growth >= 1).all()
        assert rule.exact_residual(m, v, w, exact, growth, a, b) <= 1e-12, (m, w, a, b)
    assert moved > 0.2 * DRAWS


@pytest.mark.parametrize("rule", SOLVED, ids=named)
def test_residual_notices_a_wrong_step(rule):
    rng = np.random.default_rng(3)
    noticed = tried = 0
    for _ in range(200):
        (a, b), v = constants(rule, rng), 10.0 ** rng.uniform(-2, 2)
        m = -float(rng.random())
        t, E = rule.step(m, v, 1.0, a, b)
        tried += t > 0
        noticed += t > 0 and rule.residual(m, v, 1.01 * t, E, a, b) > 1e-9
    assert noticed == tried > 150


@pytest.mark.parametrize("rule", EXACT, ids=named)
def test_exact_residual_notices_a_wrong_step(rule):
    rng = np.random.default_rng(4)
    for _ in range(200):
        (a, b), w = constants(rule, rng), 10.0 ** rng.uniform(-2, 0, 5)
        m, v = -float(rng.random()), float(w.sum())
        growth = w.copy()
        t = rule.exact(m, v, growth, *rule.step(m, v, 1.0, a, b), 1.0, a, b)
        assert rule.exact_residual(m, v, w, 1.01 * t, growth, a, b) > 1e-9
        assert rule.exact_residual(m, v, w, t, 1.01 * growth, a, b) > 1e-9


@pytest.mark.parametrize("rule", SOLVED, ids=named)
def test_a_satisfied_example_changes_nothing(rule):
    rng = np.random.default_rng(5)
    for _ in range(200):
        (_, v), (a, b) = margins(rng), constants(rule, rng)
        satisfied = 10.0 + 20.0 * max(v, math.sqrt(v))  # beyond any margin, φv and φ√v
        assert rule.step(satisfied, v, 1.0, a, b) == (0.0, 0.0)


def roots(name, m, v, a, b):
    """t and E by the printed formulas, at whatever precision mpmath works with."""
    if name == "cw-variance":
        p = 1 + 2 * a * m
        t = (-p + mpmath.sqrt(p**2 - 8 * a * (m - a * v))) / (4 * a)
        return t, 2 * a * t
    if name in ("cw-stdev", "scw-i", "scw-ii"):
        if name == "scw-ii":
            n = v + 1 / (2 * b)
            G = a * mpmath.sqrt(a**2 * m**2 * v**2 + 4 * n * v * (n + v * a**2))
            t = v * (-(2 * m * n + a**2 * m * v) + G) / (2 * (n**2 + n * v * a**2))
        else:
            root = mpmath.sqrt(m**2 * a**4 / 4 + v * a**2 * (1 + a**2))
            t = (-m * (1 + a**2 / 2) + root) / (1 + a**2)
        t = min(t, b * v) if name == "scw-i" else t
        u = (-t * a + mpmath.sqrt(t**2 * a**2 + 4 * v)) / 2
        return t, a * t / u
    return {
        "arow": lambda: (v * (1 - m) / (v + a), v / a),
        "nherd": lambda: (v * (1 - m) / (v + 1 / a), (2 * a + a**2 * v) * v),
        "pa": lambda: (1 - m, mpmath.mpf(0)),
        "pa-i": lambda: (min(1 - m, a * v), mpmath.mpf(0)),
        "pa-ii": lambda: (v * (1 - m) / (v + 1 / (2 * a)), mpmath.mpf(0)),
    }[name]()


@pytest.mark.parametrize("rule", SOLVED, ids=named)
def test_corners_agree_with_50_digits(rule):
    compared = 0
    with mpmath.workdps(60):
        for v in (1e-14, 1e-7, 1.0, 1e6, 1e12):
            for m in (-1e12, -1e3, -1.0, -1e-9, 0.0, 1e-15, 1e-8, 0.3, 0.999):
                for a in (1e-6, 0.1, 1.0, 9.0):
                    for b in (1e-4, 1.0, 1e4):
                        t, E = rule.step(m, v, 1.0, a, b)
                        if t == 0:
                            continue
                        exact = roots(rule.name, *map(mpmath.mpf, (m, v, a, b)))
                        for ours, theirs in zip((t, E), exact, strict=True):
                            assert abs(ours - theirs) <= 1e-12 * abs(theirs), (m, v, a, b)
                        compared += 1
    assert compared > 300


@pytest.mark.parametrize("rule", [r for r in EXACT if r.weight == "share"], ids=named)
def test_exact_diagonal_agrees_with_50_digits(rule):
    rng = np.random.default_rng(6)
    variance = rule.name == "cw-variance"
    with mpmath.workdps(60):
        for v in (1e-14, 1e-3, 1.0, 1e12):
            for m in (-1e6, -1.0, -1e-9, 0.0, 1e-9):
                for a in (1e-3, 1.0, 8.0):
                    w = 10.0 ** rng.uniform(-12, 0, 7)
                    w *= v / w.sum()
                    if rule.step(m, float(w.sum()), 1.0, a, 0.0) == (0.0, 0.0):
                        continue
                    growth, total = w.copy(), float(w.sum())
                    t = rule.exact(m, total, growth, *rule.step(m, total, 1.0, a, 0.0), 1.0, a, 0.0)
                    W, M, P = [mpmath.mpf(x) for x in w], mpmath.mpf(m), mpmath.mpf(a)
                    V = mpmath.fsum(W)

                    def gap(t, W=W, V=V, M=M, P=P):
                        if variance:
                            left = mpmath.fsum(x / (1 + 2 * P * t * x / V) for x in W)
                            return M + t - P * left
                        left = mpmath.fsum(x / (M + t + t * P**2 * x / V) for x in W)
                        return M + t - P**2 * left

                    low, high = mpmath.mpf(t) * (1 - mpmath.mpf(10) ** -12), mpmath.mpf(t)
                    high *= 1 + mpmath.mpf(10) ** -12
                    assert gap(low) < 0 < gap(high), (m, v, a)


def test_numbers_worked_by_hand():
    # CW-variance, m = 0, v = φ = 1: 2t² + t − 1 = 0, so t = 1/2 and E = 1.
    assert rules()["cw-variance"].step(0.0, 1.0, 1.0, 1.0, 0.0) == pytest.approx((0.5, 1.0))
    # CW-stdev, m = 0, v = φ = 1: t = √2/2 and u = t, because m + t = φu.
    assert rules()["cw-stdev"].step(0.0, 1.0, 1.0, 1.0, 0.0) == pytest.approx((math.sqrt(0.5), 1.0))
    # The paper's claim that the smaller root is negative fails here; the larger one is right.
    t, _ = rules()["cw-stdev"].step(-3.0, 1.0, 1.0, 1.0, 0.0)
    assert t == pytest.approx(3.281, abs=5e-4)
    # AROW, m = −1, v = 2, r = 2: the margin moves by 2 · 2/4, the variance halves.
    assert rules()["arow"].step(-1.0, 2.0, 1.0, 2.0, 0.0) == pytest.approx((1.0, 1.0))
    # PA-I, m = 0, ‖x‖² = 4: a margin of 1 needs τ = 1/4; C = 0.1 allows τ = 0.1.
    assert rules()["pa-i"].step(0.0, 4.0, 1.0, 0.1, 0.0) == pytest.approx((0.4, 0.0))


def test_zero_confidence_margin_only_corrects_mistakes():
    for name in ("cw-variance", "cw-stdev"):
        rule = rules()[name]
        assert rule.constants(confidence=0.5, initial_variance=1.0) == (0.0,)
        assert rule.step(-0.25, 2.0, 1.0, 0.0, 0.0) == (0.25, 0.0)
        assert rule.step(0.0, 2.0, 1.0, 0.0, 0.0) == (0.0, 0.0)
        w = np.array([1.5, 0.5])
        assert rule.exact(-0.25, 2.0, w, 0.25, 0.0, 1.0, 0.0, 0.0) == 0.25
        assert w.tolist() == [1.0, 1.0]


def test_adagrad_steps_are_optimal():
    rng = np.random.default_rng(7)
    comid, rda = rules()["adagrad-comid"].residual, rules()["adagrad-rda"].residual
    zeros = 0
    for _ in range(DRAWS):
        eta, l1, delta = 10.0 ** rng.uniform(-3, 2, 3)
        G, t = 10.0 ** rng.uniform(-6, 6), float(rng.integers(1, 10**6))
        w, g = 10.0 ** rng.uniform(-3, 3, 2) * rng.choice([-1, 1], 2)
        H = delta + math.sqrt(G)
        new = shrunk(w - eta * g / H, G, 1.0, eta, l1, delta)
        assert comid(w, g, H, new, eta, l1) <= 1e-12
        S = float(t * l1 * rng.standard_normal() * 2)
        new = weight_of(S, G, t, eta, l1, delta)
        assert rda(S, H, t, new, eta, l1) <= 1e-12
        zeros += new == 0
    assert 0.1 * DRAWS < zeros < 0.9 * DRAWS


def test_skipped_shrinking_equals_step_by_step():
    rng = np.random.default_rng(8)
    for _ in range(200):
        w, G = float(rng.standard_normal()), float(rng.random())
        eta, l1, delta = rng.uniform(0.1, 1, 3)
        one_by_one = w
        for _ in range(20):
            one_by_one = shrunk(one_by_one, G, 1.0, eta, l1 / 50, delta)
        assert shrunk(w, G, 20.0, eta, l1 / 50, delta) == pytest.approx(one_by_one, abs=1e-12)
